"""States of the forms of all verbs: as they are opened, as they change, and with errors."""

from collections.abc import Iterator, Mapping
from typing import Any

from bot.slack.forms.form import Form
from bot.slack.forms.view import view_of
from bot.slack.grammar.declarations import Command, Verb
from bot.slack.grammar.registry import IncompleteError
from tests.handlers import filled_forms
from tests.handlers.command_client import ALICE, CAROL, ERIN, CommandClient
from tests.states import datasets, runs, snapshots
from tests.states.state import Shown, State

RUN = {"name": "lane", "image": "ghcr.io/acme/train:7", "gpus": "2", "command": "python train.py"}


def form(name: str, text: str, fields: Mapping[str, str] | None = None, *rows: Any) -> State:
    """The form that a command opens; with `fields` as it is after these changed."""

    def show(client: CommandClient) -> Shown:
        person = person_of(*text.removeprefix("/").split()[:2])
        found = filled_forms.opened(client, text, person)
        if fields is not None:
            whole = _initials(found) | dict(fields)
            changed = filled_forms.used(client, found, "form-change", person, fields=whole).form
            assert changed is not None
            found = changed
        return Shown("form", view_of(found))

    return State(name, show, rows, kind="form")


def refused(name: str, text: str, fields: Mapping[str, str]) -> State:
    """The form with the errors beside its fields, after it was sent."""

    def show(client: CommandClient) -> Shown:
        found = filled_forms.opened(client, text)
        whole = _initials(found) | dict(fields)
        changed = filled_forms.used(client, found, "form-change", fields=whole).form
        reply = filled_forms.sent(client, found, fields)
        assert changed is not None
        assert reply.errors, reply
        return Shown("form", view_of(changed), tuple(reply.errors.items()))

    return State(name, show, kind="form")


_OF_LEADS = {"resize", "copy", "delete"}


def person_of(command: str, verb: str) -> str:
    """Who may fill in the form of a verb: an admin, a lead, or any member."""
    if command == "team" or (command, verb) in {
        ("quota", "set"),
        ("anf", "repair"),
        ("anf", "pool"),
    }:
        return CAROL
    return ERIN if command == "anf" or (command == "pvc" and verb in _OF_LEADS) else ALICE


def _initials(found: Form) -> dict[str, str]:
    return {each.name: each.initial for each in found.fields}


def with_forms(client: CommandClient) -> Iterator[tuple[Command, Verb]]:
    """Every verb that cannot do without something, and so opens a form for it."""
    registry = client.application.registry
    for command in registry.commands.values():
        for verb in command.verbs.values():
            try:
                registry.parse(command.name, verb.name)
            except IncompleteError:
                yield command, verb


def states(client: CommandClient) -> Iterator[State]:
    """All of them."""
    yield from _submissions()
    yield from _of_quotas()
    yield from _of_data()
    for command, verb in with_forms(client):
        yield form(f"form-{command.name}-{verb.name}", f"/{command.name} {verb.name}")


def _submissions() -> Iterator[State]:
    submit = "/train submit"
    yield form("form-train-submit-filled", submit, RUN)
    yield form("form-train-submit-interactive", f"{submit} --kind interactive", RUN)
    many = RUN | {"nodes": "2"}
    for kind in ("mpi", "sync", "nccl", "rayjob"):
        yield form(f"form-train-submit-{kind}", f"{submit} --kind {kind}", many)
    range_of = RUN | {"nodes": "2:4"}
    yield form("form-train-submit-elastic", f"{submit} --kind elastic", range_of)
    typed = f"{submit} --gpus 2 --env A=1 -- python train.py --lr '0 1'"
    yield form("form-train-submit-typed", typed)
    yield form("form-train-submit-too-many-gpus", submit, RUN | {"gpus": "900"})
    wrong = RUN | {"name": "Lane!", "gpus": "many"}
    yield refused("form-train-submit-errors", submit, wrong)
    no_image = {"name": "lane", "gpus": "1", "command": "python train.py"}
    yield refused("form-train-submit-without-image", submit, no_image)
    lane = runs.running(spec=runs.ELASTIC, size=4, pods_running=4)
    yield form("form-train-scale-filled", "/train scale", {"run": "lane", "nodes": "6"}, lane)


def _of_quotas() -> Iterator[State]:
    options = {"amount": "+8", "length": "3d", "reason": "CVPR deadline"}
    yield form("form-quota-request-filled", "/quota request", options)
    yield form("form-quota-request-refused", "/quota request", options | {"donor": "team-a"})
    yield refused("form-quota-request-errors", "/quota request", options | {"amount": "lots"})
    base = {"amount": "+4", "team": "team-a"}
    yield form("form-quota-set-filled", "/quota set --team team-a", base)


def _of_data() -> Iterator[State]:
    there = (datasets.dataset(), datasets.recorded(id=datasets.OTHER))
    wanted = {"reference": "chest-xray@v3"}
    yield form("form-dataset-cache-filled", "/dataset cache", wanted, *there)
    yield form("form-snapshot-create-filled", "/snapshot create", {"claim": "imagenet"})
    taken = snapshots.ready()
    again = {"snapshot": taken.name, "name": "imagenet-again"}
    yield form("form-snapshot-restore-filled", "/snapshot restore", again, taken)
    back = {"snapshot": taken.name, "is_in_place": "yes", "reason": "A run overwrote the labels"}
    yield form("form-snapshot-restore-in-place", "/snapshot restore", back, taken)
    copy = {"claim": "imagenet", "name": "imagenet-copy"}
    yield form("form-snapshot-clone-filled", "/snapshot clone", copy)
    level = {"claim": "lane-data", "level": "Ultra", "length": "4h", "reason": "CVPR deadline"}
    yield form("form-anf-level-filled", "/anf level", level)
    mibps = {"claim": "models", "mibps": "96", "length": "4h"}
    yield form("form-anf-throughput-filled", "/anf throughput", mibps)
