"""Writes rows for snapshot schedules, by what their newest snapshot says of them."""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfoNotFoundError

from sqlmodel import Session, col, select

from bot.adoption import Adoptable, Known, Refused, Verdict, channel_of, is_person, unfit
from bot.audit import Actor, record
from bot.cluster import labels
from bot.config import Settings
from bot.durations import format_duration
from bot.errors import UsageError
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.schedule import next_slot, upcoming
from bot.slack.messages import show_card
from bot.snapshots.adoption.record import ScheduleRecord
from bot.snapshots.adoption.snapshots import FoundSnapshot
from bot.snapshots.schedules.service import SHORTEST
from bot.snapshots.tables import SCHEDULE, SnapshotSchedule

_SAID = "It goes on under a new database. Its earlier snapshots stay until they are deleted."

_UNREADABLE = "What its newest snapshot says of it cannot be read."
# A zone that is the name of a folder is an OSError.
_BAD = (UsageError, ZoneInfoNotFoundError, ValueError, OverflowError, OSError)


@dataclass(frozen=True)
class FoundSchedule:
    """A schedule by its newest snapshot, which was due at `slot`."""

    newest: FoundSnapshot
    slot: datetime
    said: ScheduleRecord

    @property
    def named(self) -> str:
        """The schedule, for people."""
        at = self.newest.object
        return f"Schedule of PVC {at.namespace}/{at.claim_name} on {self.newest.cluster}"


def schedules_of(snapshots: Iterable[FoundSnapshot]) -> list[FoundSchedule]:
    """The schedules that these snapshots were taken on, each by its newest snapshot."""
    found: dict[tuple[str, ...], FoundSchedule] = {}
    for each in snapshots:
        said = each.record
        if said is None or said.schedule is None or said.slot is None:
            continue
        key = (each.cluster, each.object.namespace, said.schedule.id)
        if key not in found or found[key].slot < said.slot:
            found[key] = FoundSchedule(each, said.slot, said.schedule)
    return [found[key] for key in sorted(found)]


def examine(
    session: Session, settings: Settings, found: FoundSchedule, last_sign: datetime, now: datetime
) -> Verdict:
    """Whether the row of a schedule can be written; nothing is written.

    `last_sign` is the last moment at which the lost bot is known to have worked.
    """
    if session.get(SnapshotSchedule, found.said.id) is not None:
        return Known()
    try:
        row = _row(settings, found, last_sign, now)
    except _BAD:
        return Refused(_UNREADABLE)
    if isinstance(row, str):
        return Refused(row)
    if _has_other(session, row):
        return Refused("The PVC has another schedule.")
    title = f"{row.claim_name} of {row.team}: {row.cron} ({row.time_zone})"
    return Adoptable(title, lambda session, now: _adopt(session, row, now))


def _row(
    settings: Settings, found: FoundSchedule, last_sign: datetime, now: datetime
) -> SnapshotSchedule | str:
    """The row, or why there is none; UsageError and the like if it is no schedule."""
    at, said = found.newest.object, found.said
    claim = found.newest.claim
    missed = next_slot(said.cron, said.time_zone, found.slot)
    # No slot twice, even if the clock of this machine is behind.
    following = upcoming(said.cron, said.time_zone, max(now, found.slot), SHORTEST)[0]
    if why := unfit(settings, found.newest.cluster, at, "Snapshots"):
        return why
    if not is_person(said.person):
        return _UNREADABLE
    if claim is None or claim.metadata.deletion_timestamp is not None:
        return "Its PVC no longer exists."
    if missed + settings.snapshots.late_within < last_sign:
        return (
            f"It took no snapshot after {found.slot.astimezone(UTC):%Y-%m-%d %H:%M} UTC, so it was"
            f" probably stopped. To start it again: `{_command(at.claim_name, said)}`."
        )
    team = at.labels[labels.TEAM]
    return SnapshotSchedule(
        id=said.id,
        workspace_id=settings.workspace,
        team=team,
        person=said.person,
        channel=channel_of(settings.teams[team], said.channel),
        cluster=found.newest.cluster,
        namespace=at.namespace,
        claim_name=at.claim_name,
        cron=said.cron,
        time_zone=said.time_zone,
        keep_seconds=said.keep_seconds,
        most=said.most,
        asked_at=said.asked_at,
        next_at=following,
        last_id=at.labels[labels.SNAPSHOT],
        said=_SAID,
    )


def _adopt(session: Session, row: SnapshotSchedule, now: datetime) -> None:
    """Writes the row and shows its card."""
    session.add(row)
    session.flush()
    facts = {"pvc": row.claim_name, "cron": row.cron, "zone": row.time_zone}
    actor = Actor(row.workspace_id, team=row.team)
    record(session, actor, "snapshot.adopt_schedule", (SCHEDULE, row.id), facts, at=now)
    show_card(session, row.subject, row.channel, now, live=False, owner=row.person)
    wake(session, SCHEDULE, row.id, cluster_lane(row.cluster), now)


def _has_other(session: Session, row: SnapshotSchedule) -> bool:
    other = select(SnapshotSchedule).where(
        col(SnapshotSchedule.cluster) == row.cluster,
        col(SnapshotSchedule.namespace) == row.namespace,
        col(SnapshotSchedule.claim_name) == row.claim_name,
        col(SnapshotSchedule.ended_at).is_(None),
    )
    return session.exec(other).first() is not None


def _command(claim: str, said: ScheduleRecord) -> str:
    """How people set it up again."""
    keep = timedelta(seconds=said.keep_seconds or 0)
    kept = [f"--keep {format_duration(keep).replace(' ', '')}"] if keep else []
    kept += [] if said.most is None else [f"--max {said.most}"]
    return " ".join(["/snapshot schedule", claim, shlex.quote(said.cron), *kept])
