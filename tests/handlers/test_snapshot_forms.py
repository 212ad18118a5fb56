"""The forms of /snapshot say what would happen, and start nothing."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from bot.slack.forms.form import Form
from playground.cluster.story import snapshot_class
from tests.handlers.command_client import CommandClient, opened
from tests.handlers.filled_forms import foreseen, used
from tests.handlers.filled_forms import opened as form_of
from tests.handlers.test_snapshot import made, ready, rows
from tests.playground.cluster.served import Served


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    served.cluster.install("snapshots")
    served.cluster.create("volumesnapshotclasses", snapshot_class())
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served) as opened_client:
        yield opened_client


def changed(client: CommandClient, form: Form, fields: Mapping[str, str]) -> Form:
    found = used(client, form, "form-change", fields=fields).form
    assert found is not None
    return found


def names(form: Form) -> list[str]:
    return [each.name for each in form.fields]


def test_a_form_says_what_would_be_taken(client: CommandClient) -> None:
    form = form_of(client, "/snapshot create")
    assert names(form) == ["claim", "note", "keep"]
    assert foreseen(changed(client, form, {"claim": "imagenet"})) == [
        "It would take a snapshot of `imagenet`, a PVC of 1 TiB on standard.",
        "It is kept until it is deleted manually.",
    ]
    assert foreseen(changed(client, form, {"claim": "imaginet"}))[0].startswith(
        "There is no PVC imaginet in namespace team-a."
    )
    assert rows(client) == []


def test_fields_follow_how_it_is_restored(client: CommandClient) -> None:
    row = ready(client)
    form = form_of(client, "/snapshot restore")
    new = ["name", "size_bytes", "storage_class", "is_read_only", "to"]
    assert names(form) == ["snapshot", "is_in_place", *new]
    fields = {"snapshot": "imagenet", "name": "again"}
    assert foreseen(changed(client, form, fields)) == [
        f"It would create PVC `again` of 1 TiB on standard from `{row.name}`."
    ]
    in_place = changed(client, form, fields | {"is_in_place": "yes"})
    assert names(in_place) == ["snapshot", "is_in_place", "reason"]
    assert foreseen(in_place)[0] == (
        "Only Trident can revert a PVC in place, and imagenet uses csi.playground."
    )
    assert made(client) == []


def test_a_form_says_what_a_clone_becomes(client: CommandClient) -> None:
    form = form_of(client, "/snapshot clone imagenet")
    fields = {"claim": "imagenet", "name": "mine", "size_bytes": "1Gi"}
    assert foreseen(changed(client, form, fields))[0] == (
        "1 GiB is less than what imagenet needs: 1 TiB."
    )
    assert foreseen(changed(client, form, fields | {"size_bytes": "2Ti"})) == [
        "It would create PVC `mine` of 2 TiB on standard from `imagenet`."
    ]
    assert made(client) == []
