"""Cards of changes of teams: the question before a removal, and the progress of each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlmodel import Session

from bot.approvals import Approvals
from bot.approvals.deciding import RequestSubject, RequestView, deciding
from bot.config import Settings
from bot.people.people import name_of
from bot.slack.card import Button, Card, Reply, Table, Tone
from bot.slack.markup import Markup, channel, code, join, person, plain, sentence, when
from bot.teams.decide import DELETED
from bot.teams.objects import read
from bot.teams.tables import CHANGE, ChangePhase, SlackTeam, TeamChange, Verb

REMOVE, WITHDRAW = "team.remove", "team.withdraw"
_STATES = {
    ChangePhase.CHECKING: ("Dry run", Tone.WORKING),
    ChangePhase.ASKED: ("Waiting for approval", Tone.WAITING),
    ChangePhase.MAKING: ("Creating", Tone.WORKING),
    ChangePhase.CLOSING: ("Closing the team", Tone.WORKING),
    ChangePhase.REMOVING: ("Deleting", Tone.WORKING),
    ChangePhase.DONE: ("Done", Tone.GOOD),
    ChangePhase.FAILED: ("Failed", Tone.BAD),
    ChangePhase.DENIED: ("Denied", Tone.BAD),
    ChangePhase.EXPIRED: ("Expired", Tone.STOPPED),
    ChangePhase.WITHDRAWN: ("Withdrawn", Tone.STOPPED),
}
_WITH_IT = (
    "Everything in the namespace is deleted with it, such as Secrets and ConfigMaps that people"
    " created there. This cannot be undone."
)
_READY = (
    "The team's commands work within 10 seconds. It is set in Slack: presets, limits and templates"
    " are set in quartermaster.yaml, under the same name."
)


def question(team: SlackTeam) -> Reply:
    """What is deleted with a team that nothing uses, with the button that requests it."""
    objects = read(team.objects)
    rows = tuple((each.kind, each.name, each.namespace or "") for each in objects)
    lines = (
        plain(f"No run, session, dataset, cache, snapshot or quota override of {team.name} is left."
              " PVCs, pods and workloads are looked for before anything is deleted."),
        plain(_WITH_IT),
        plain("An approver other than you has to approve it."),
    )  # fmt: skip
    button = Button(REMOVE, "Request it", team.name, "danger")
    title = f"Remove team {team.name} and its {len(objects)} objects?"
    table = Table(("Kind", "Name", "Namespace"), rows)
    return Reply(card=Card(title, lines=lines, table=table, buttons=(button,)), is_question=True)


@dataclass(frozen=True)
class Named:
    """The names of who requested a change, and of the people of its team."""

    asker: str
    members: tuple[str, ...] = ()
    leads: tuple[str, ...] = ()


def change_card(row: TeamChange, named: Named, deciding: RequestView, shown_in: str) -> Card:
    """The card of a change; in the channel of the request it can be withdrawn."""
    state, tone = _STATES[ChangePhase(row.phase)]
    is_hindered = row.is_live and bool(row.trouble or row.obstacle)
    can_withdraw = row.can_be_withdrawn and row.channel == shown_in
    own = (Button(WITHDRAW, "Withdraw", row.id),) if can_withdraw else ()
    return Card(
        title=f"{row.verb.capitalize()} team {row.team}",
        state=state,
        tone=Tone.WARNING if is_hindered else tone,
        lines=tuple(_lines(row, deciding)),
        facts=tuple(_facts(row, named)),
        table=_objects(row),
        buttons=(*deciding.buttons, *own),
    )


def waiting(rows: Sequence[TeamChange]) -> tuple[Markup, ...]:
    """Lines of the changes that wait for a decision."""
    return tuple(
        join(plain(f"{row.verb.capitalize()} team "), code(row.team), ", requested by ",
             person(row.person), " ", when(row.asked_at))
        for row in rows
    )  # fmt: skip


def _lines(row: TeamChange, deciding: RequestView) -> Iterator[Markup]:
    if row.is_live and row.verb == Verb.REMOVE:
        yield plain(_WITH_IT)
    yield from deciding.lines
    if deciding.deciders:
        yield join(" or ".join(person(each) for each in deciding.deciders), " can decide.")
    if row.phase == ChangePhase.DONE and row.verb == Verb.CREATE:
        yield plain(_READY)
    for line in (row.reason, row.unblock, row.obstacle):
        if line:
            yield sentence(line)
    if row.trouble and row.is_live:
        yield sentence(f"{row.trouble} Retrying.")


def _facts(row: TeamChange, named: Named) -> Iterator[tuple[str, Markup]]:
    yield "Cluster", plain(row.cluster)
    yield "Namespace", code(row.namespace)
    yield "Queue", code(row.queue)
    if row.verb == Verb.CREATE:
        yield "Quota", plain(_quota(row))
    channels = row.said.get("channels", ())
    yield "Channel", join(*(channel(each) for each in channels)) if channels else plain("none")
    yield "Members", plain(", ".join(named.members) or "none")
    yield "Leads", plain(", ".join(named.leads) or "none")
    yield "Requested by", join(plain(named.asker), " in ", channel(row.channel))
    if row.withdrawn_by is not None:
        yield "Withdrawn by", person(row.withdrawn_by)
    if row.ended_at is not None:
        yield "Ended", when(row.ended_at)


def _quota(row: TeamChange) -> str:
    of = "" if row.gpu_type == "any" else f" of {row.gpu_type}"
    said = f"{row.gpus} GPU{'' if row.gpus == 1 else 's'}{of}"
    said += f", in {row.above}" if row.above else ""
    apart = f"; {row.interactive_gpus} of {row.interactive_type} for sessions alone"
    return said + (apart if row.interactive_gpus else "")


def _objects(row: TeamChange) -> Table | None:
    """The objects, with what was checked of each and, at the end, with what became of it."""
    if not row.checks:
        return None
    is_done = row.phase == ChangePhase.DONE
    pairs = zip(read(row.objects), row.checks, strict=True)
    rows = tuple((each.title, _became(row, said) if is_done else said) for each, said in pairs)
    return Table(("Object", "Outcome" if is_done else "Check"), rows)


def _became(row: TeamChange, said: str) -> str:
    if row.verb == Verb.CREATE:
        return "created"
    return said.removeprefix("will be ") if said.startswith(DELETED) else said


class ChangeRenderer:
    """Renders changes of teams; the buttons to decide are only on the approvers' card."""

    kind = CHANGE

    def __init__(self, settings: Callable[[], Settings], approvals: Approvals) -> None:
        self._settings = settings
        self._approvals = approvals

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The card of a change in this channel; None if there is no such change."""
        row = session.get(TeamChange, subject_id)
        if row is None:
            return None
        named = _named(session, row)
        asked = RequestSubject(CHANGE, row.id, row.channel)
        found = deciding(session, self._approvals, self._settings(), asked, channel)
        return change_card(row, named, found, channel)


def _named(session: Session, row: TeamChange) -> Named:
    def names(key: str) -> tuple[str, ...]:
        circle = row.said.get(key, {})
        people = (name_of(session, row.workspace_id, each) for each in circle.get("people", ()))
        return (*people, *(f"user group {each}" for each in circle.get("groups", ())))

    asker = name_of(session, row.workspace_id, row.person)
    return Named(asker, names("members"), names("leads"))
