"""Judges what a request wrote: every changed row has to be one that this person may change.

The rules are written by hand, as is the table in test_permissions, and know nothing of the code
they judge. SQLite itself takes down each change, by triggers; no row can be changed past it.
"""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlmodel import SQLModel

from bot.database.database import Database
from tests.handlers.command_client import ALICE, BOB, CAROL, ERIN, MIA

TEAMS = {ALICE: {"team-a"}, MIA: {"team-a"}, ERIN: {"team-a"}, BOB: {"team-b"}}
LEADS = {ERIN: {"team-a"}, BOB: {"team-b"}}
ADMINS = {CAROL}
APPROVERS = {
    "quota_override": {CAROL},
    "quota_base": {CAROL, ERIN},
    "anf_change": {CAROL, ERIN},
    "pvc_change": {CAROL, ERIN},
    "anf_pool": {CAROL, ERIN},
    "removal": {CAROL, ERIN},
    "run_cost": {CAROL, ERIN},
    "snapshot_restore": {CAROL},
    "team_change": {CAROL, ERIN},
}
# Whoever decides over quota reads the digests of all teams, which come by a row of their own.
READERS = {CAROL, ERIN}
# What keeps deliveries apart, and what makes somebody known whom nobody knew yet.
ANYBODYS = {"deliveries", "people"}
# Whose rows only whoever asked for them, a lead of theirs or an admin may change.
OWNED = {
    "runs",
    "run_requests",
    "sweeps",
    "overrides",
    "restores",
    "reverts",
    "dataset_pushes",
    "removal_requests",
}
OF_LEADS = {"volume_changes", "anf_growths", "pvc_resizes", "pvc_deletions", "pvc_copies"}
OF_ADMINS = {"managed_quotas", "override_legs", "dataset_orphans", "anf_repairs",
             "anf_moved_volumes", "anf_pools", "anf_pool_requests", "installation", "channels",
             "group_members", "slack_teams", "team_changes"}  # fmt: skip
# These a whole team may use that has them from another.
SHARED = {"dataset_caches", "dataset_shares"}
_SHOWN = (
    "id",
    "team",
    "person",
    "requester",
    "approval_id",
    "wanted",
    "evict_by",
    "user_id",
    "verb",
)


@dataclass(frozen=True)
class Change:
    """One row that was written, as it was and as it is; None where there was or is none."""

    table: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None

    def of(self, column: str) -> set[Any]:
        """What the column held and holds."""
        rows = [row for row in (self.before, self.after) if row is not None]
        return {row[column] for row in rows if row.get(column) is not None}


@dataclass(frozen=True)
class Asked:
    """Who asked for an approval, under which policy, and whether an admin does without it."""

    requester: str
    policy: str
    breaks_glass: bool


class Changes:
    """What is written to a database in a file, from one look to the next."""

    def __init__(self, database: Database) -> None:
        self._path = str(database._write.url.database)
        connection = database._write.raw_connection()
        cursor = connection.cursor()
        cursor.execute("COMMIT")  # what comes here is not to outlive the machine
        cursor.execute("PRAGMA synchronous=OFF")
        cursor.execute("CREATE TABLE changed (place TEXT, before TEXT, after TEXT)")
        for table in SQLModel.metadata.sorted_tables:
            for trigger in _triggers(table):
                cursor.execute(trigger)
        connection.close()
        self._reader = sqlite3.connect(self._path, isolation_level=None)
        self._last = 0

    def close(self) -> None:
        """Looks no more."""
        self._reader.close()

    def forget(self) -> None:
        """Begins anew: what was written until now is nobody's."""
        (self._last,) = self._reader.execute(
            "SELECT coalesce(max(rowid), 0) FROM changed"
        ).fetchone()

    def look(self) -> list[Change]:
        """What was written since the last look."""
        found = self._reader.execute(
            "SELECT rowid, place, before, after FROM changed WHERE rowid > ?",
            (self._last,),
        ).fetchall()
        self._last = found[-1][0] if found else self._last
        return [Change(place, _row(before), _row(after)) for _, place, before, after in found]

    def approval(self, row_id: str) -> "Asked":
        """What is known of a request."""
        query = "SELECT requester, policy, is_break_glass FROM approvals WHERE id = ?"
        return Asked(*self._reader.execute(query, (row_id,)).fetchone())

    def text(self) -> str:
        """All that is in the database, for looking whether something is."""
        return "\n".join(self._reader.iterdump())


def wrongs(person: str, changes: list[Change], approval: Callable[[str], Asked]) -> str:
    """Why the first of these changes was not this person's to make; empty where all were."""
    for change in changes:
        wrong = _wrong(person, change, approval)
        if wrong:
            return f"{change.table}: {wrong}: {change.before} -> {change.after}"
    return ""


def _wrong(person: str, change: Change, approval: Callable[[str], Asked]) -> str:
    if change.table in ANYBODYS:
        return ""
    if change.table == "notice_choices" or change.of("verb") == {"notices.choose"}:
        return "" if change.of("person") == {person} else "somebody else's choice"
    if change.table == "votes":
        return _wrong_vote(person, change, approval)
    if person in ADMINS:
        return ""
    if person not in TEAMS:
        return "of no team"
    is_reading = change.table == "digests" or change.of("verb") == {"gpu.digest.post"}
    if is_reading and person in READERS:
        return ""
    if change.table in OF_ADMINS:
        return "an admin's"
    return _wrong_of_team(person, change)


def _wrong_of_team(person: str, change: Change) -> str:
    teams = change.of("team")
    if not teams <= TEAMS[person] and (change.table not in SHARED or change.of("evict_by")):
        return f"of {teams}"
    if teams <= LEADS.get(person, set()):
        return ""
    if change.table in OF_LEADS:
        return "a lead's"
    owners = change.of("person") | change.of("requester")
    if change.table in OWNED and change.before is not None and owners != {person}:
        return f"of {owners}"
    return ""


def _wrong_vote(person: str, change: Change, approval: Callable[[str], Asked]) -> str:
    (about,) = change.of("approval_id")
    asked = approval(about)
    if asked.breaks_glass and person in ADMINS:
        return ""
    if person == asked.requester:
        return "a vote on an own request"
    is_theirs = change.of("person") == {person} and person in APPROVERS[asked.policy]
    return "" if is_theirs else "no approver's vote"


def _row(text: str | None) -> dict[str, Any] | None:
    return None if text is None else dict(json.loads(text))


def _triggers(table: Any) -> list[str]:
    shown = [name for name in _SHOWN if name in table.columns]

    def row(which: str) -> str:
        pairs = ", ".join(f"'{name}', {which}.{name}" for name in shown)
        return f"json_object({pairs})"

    rows = {"INSERT": ("NULL", row("NEW")), "UPDATE": (row("OLD"), row("NEW")),
            "DELETE": (row("OLD"), "NULL")}  # fmt: skip
    made = "CREATE TRIGGER seen_{0}_{1} AFTER {1} ON {0} BEGIN INSERT INTO changed VALUES {2}; END"
    return [
        made.format(table.name, event, f"('{table.name}', {before}, {after})")
        for event, (before, after) in rows.items()
    ]
