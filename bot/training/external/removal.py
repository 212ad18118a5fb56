"""Stops external workloads on request of a lead or an admin."""

from datetime import datetime

from sqlmodel import Session
from typing_extensions import override

from bot.reconcile.controller import Step, Trouble
from bot.reconcile.frame import SOON, RowController
from bot.slack.markup import join, person, plain
from bot.slack.messages import ThreadMessage, post_once, refresh_cards
from bot.training.kinds import root_named
from bot.training.kinds.job import JOB
from bot.training.tables import REMOVAL, Removal


class RemovalController(RowController[Removal]):
    """Reconciles removals: deletes the object by its uid, and waits until it is gone."""

    kind = REMOVAL
    table = Removal

    @override
    def load(self, session: Session, row_id: str) -> Removal | None:
        removal = session.get(Removal, row_id)
        return removal if removal is not None and removal.ended_at is None else None

    @override
    def reconcile(self, row: Removal, now: datetime) -> Step:
        """Takes the next step; an object with another uid is never touched."""
        cluster = self._context.cluster(row.cluster, "the workload is stopped")
        type_ = root_named(row.kind) or JOB
        resource = type_.resource
        found = cluster.get(resource, row.job_name, row.namespace)
        if found is None or found.uid != row.job_uid:
            return Step(None, lambda session: _end(session, row.id, "Stopped", now))
        root = type_.read(found)
        if root.status.is_over:
            return Step(None, lambda session: _end(session, row.id, "Had already ended", now))
        if not root.is_leaving:
            cluster.delete(resource, found.name, found.namespace, uid=found.uid)
        return Step(now + SOON)

    @override
    def on_failure(self, session: Session, row_id: str, trouble: Trouble, /) -> None:
        """Shows on the card from the first time on that the cluster refuses the deletion."""
        removal = session.get(Removal, row_id)
        if removal is not None and removal.trouble != trouble.sentence:
            removal.trouble = trouble.sentence
            session.add(removal)
            refresh_cards(session, removal.subject, live=False)


def _end(session: Session, row_id: str, outcome: str, now: datetime) -> None:
    removal = session.get(Removal, row_id)
    if removal is None or removal.ended_at is not None:
        return
    removal.ended_at, removal.outcome, removal.trouble = now, outcome, ""
    session.add(removal)
    refresh_cards(session, removal.subject, live=False)
    said = join(person(removal.person), " ", plain(f"{removal.job_name}: {outcome.lower()}."))
    note = ThreadMessage("ended", (said,), owner=removal.person)
    post_once(session, removal.subject, removal.channel, note, now)
