"""The answers to `/quota status`, `/quota history` and `/approval list`."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from bot.quotas.status import TeamStatus, TypeStatus
from bot.quotas.tables import Mode, Override, OverridePhase
from bot.quotas.wording import UNKNOWN, amount, change, gpus, number, signed
from bot.slack.card import Card, Table
from bot.slack.markup import Markup, code, join, person, plain, when

FRESH_SECONDS = 30.0
_HEADER = ("GPU type", "Nominal", "In use", "Borrowed", "Free to borrow", "Pending")


def status_card(statuses: Sequence[TeamStatus]) -> Card:
    """The quota of one team, or of several side by side."""
    many = len(statuses) != 1
    teams = {each.team for each in statuses}
    in_many = {each.team for each in statuses if _clusters(statuses, each.team) > 1}
    rows = [row for each in statuses for row in _rows(each, _name(each, in_many) if many else "")]
    return Card(
        title="GPU quota of all teams" if len(teams) != 1 else f"GPU quota of {statuses[0].team}",
        table=Table(("Team", *_HEADER) if many else _HEADER, tuple(rows)),
        lines=tuple(line for each in statuses for line in _overrides(each, named=many)),
        footer=tuple(_footer(statuses)),
    )


@dataclass(frozen=True)
class Past:
    """An override with the people who decided it."""

    row: Override
    deciders: tuple[str, ...]


def history_card(entries: Sequence[Past], team: str | None) -> Card:
    """Overrides with their requester, approvers and outcome; newest first."""
    whose = f" of {team}" if team else ""
    nothing = plain("No overrides have been requested yet.")
    return Card(
        title=f"Quota overrides{whose}",
        lines=tuple(_told(entry) for entry in entries) or (nothing,),
    )


def requests_card(rows: Sequence[Override]) -> Card:
    """The pending requests, oldest first."""
    lines = tuple(_asked(row) for row in rows)
    return Card("Pending requests", lines=lines or (plain("No requests are pending."),))


def _clusters(statuses: Sequence[TeamStatus], team: str) -> int:
    return len({each.cluster for each in statuses if each.team == team})


def _name(status: TeamStatus, in_many: Collection[str]) -> str:
    """The team, with its cluster if it has several."""
    return f"{status.whose} ({status.cluster})" if status.team in in_many else status.whose


def _rows(status: TeamStatus, name: str) -> Iterator[tuple[str, ...]]:
    lead = (name,) if name else ()
    if not status.types:
        yield (*lead, *[UNKNOWN] * len(_HEADER))
    for position, each in enumerate(status.types):
        yield (*lead, *_figures(each), _pending(status) if position == 0 else "")


def _figures(each: TypeStatus) -> tuple[str, ...]:
    figures = each.figures
    nominal = "unlimited" if figures.is_unlimited else amount(figures.nominal)
    values = (figures.used, figures.borrowed, each.free_to_borrow)
    return (figures.flavor, nominal, *(amount(value) for value in values))


def _pending(status: TeamStatus) -> str:
    if status.pending_workloads is None:
        return UNKNOWN
    if not status.pending_workloads:
        return "0"
    wanted = UNKNOWN + " GPUs" if status.pending_gpus is None else gpus(status.pending_gpus)
    return f"{status.pending_workloads} ({wanted})"


def _overrides(status: TeamStatus, *, named: bool) -> Iterator[Markup]:
    for row in status.overrides:
        end = join("until ", when(row.ends_at)) if row.ends_at else Markup("starting")
        if row.phase == OverridePhase.ENDING:
            end = Markup("restoring the quota")
        what = f"{row.team} " if named else ""
        yield join("Override ", code(number(row)), plain(f": {what}{signed(row.amount)} "),
                   plain(row.flavor), ", ", end, ".")  # fmt: skip


def _footer(statuses: Sequence[TeamStatus]) -> Iterator[Markup]:
    for status in statuses:
        if not status.queue and status.age_seconds < inf:
            yield plain(
                f"The {status.queue_kind} of {status.whose} was not found in {status.cluster}."
            )
    clusters = {each.cluster: each for each in statuses}
    for cluster, each in clusters.items():
        where = f" ({cluster})" if len(clusters) > 1 else ""
        silent = f"{cluster} or its {each.service}" if each.service else cluster
        if each.unchangeable:
            yield plain(f"Cluster {cluster} has {each.unchangeable}.")
        if each.age_seconds == inf:
            said = f" {silent} does not answer." if each.trouble else ""
            yield plain(f"The queues of cluster {cluster} have not been read yet.{said}")
        elif each.trouble:
            age = int(each.age_seconds)
            yield plain(f"Cluster {silent} does not answer; its figures are {age} s old.")
        elif each.age_seconds > FRESH_SECONDS:
            yield plain(f"As of {int(each.age_seconds)} s ago{where}.")


def _told(entry: Past) -> Markup:
    return join(_asked(entry.row), _decision(entry), _how_it_ended(entry.row), ".")


def _asked(row: Override) -> Markup:
    what = plain(f" {row.team}: {change(row)} ({row.reason}), requested by ")
    return join(code(number(row)), what, person(row.requester), " ", when(row.asked_at))


def _decision(entry: Past) -> Markup:
    if not entry.deciders:
        return Markup("")
    word = "denied" if entry.row.phase == OverridePhase.DENIED else "approved"
    return join(f", {word} by ", ", ".join(person(each) for each in entry.deciders))


_UNDER_WAY: dict[str, str] = {
    OverridePhase.ASKED: ", pending",
    OverridePhase.APPROVED: ", starting",
    OverridePhase.DENIED: "",
}


def _how_it_ended(row: Override) -> Markup:
    match row.phase:
        case OverridePhase.ENDED if row.mode == Mode.BASE:
            return join(", set permanently ", _moment(row))
        case OverridePhase.ENDED:
            return join(", ended ", _moment(row))
        case OverridePhase.REVOKED:
            return join(", revoked by ", person(row.revoked_by or ""), " ", _moment(row))
        case OverridePhase.EXPIRED:
            return join(", expired ", _moment(row))
        case OverridePhase.FAILED:
            return join(", failed: ", plain(row.note.rstrip(".")))
        case OverridePhase.ACTIVE if row.ends_at:
            return join(", active until ", when(row.ends_at))
        case _:
            return Markup(_UNDER_WAY.get(row.phase, f", {row.phase}"))


def _moment(row: Override) -> Markup:
    return when(row.ended_at) if row.ended_at else Markup("")
