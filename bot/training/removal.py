"""Stops external workloads on request of a lead or an admin."""

from collections.abc import Mapping
from datetime import datetime

from sqlmodel import Session

from bot.clock import Clock
from bot.cluster.cluster import Cluster
from bot.cluster.resources import JOBS, root_named
from bot.database.database import Database
from bot.errors import ClusterError
from bot.reconcile.controller import Step, Trouble
from bot.slack.markup import join, person, plain
from bot.slack.messages import ThreadMessage, post_once, refresh_cards
from bot.training.controller import SOON
from bot.training.kinds.fate import root_of
from bot.training.tables import REMOVAL, Removal


class RemovalController:
    """Reconciles removals: deletes the object by its uid, and waits until it is gone."""

    kind = REMOVAL

    def __init__(self, database: Database, clock: Clock, clusters: Mapping[str, Cluster]) -> None:
        self._database = database
        self._clock = clock
        self._clusters = clusters

    def step(self, row_id: str) -> Step:
        """Takes the next step; an object with another uid is never touched."""
        removal = self._database.read(lambda session: session.get(Removal, row_id))
        if removal is None or removal.ended_at is not None:
            return Step(None)
        cluster = self._clusters.get(removal.cluster)
        if cluster is None:
            raise ClusterError(f"Cluster {removal.cluster} is no longer in quartermaster.yaml.")
        now = self._clock.now()
        resource = root_named(removal.kind) or JOBS
        found = cluster.get(resource, removal.job_name, removal.namespace)
        if found is None or found.uid != removal.job_uid:
            return Step(None, lambda session: _end(session, row_id, "Stopped", now))
        root = root_of(resource, found)
        if root.fate.is_over:
            return Step(None, lambda session: _end(session, row_id, "Had already ended", now))
        if not root.is_leaving:
            cluster.delete(resource, found.name, found.namespace, uid=found.uid)
        return Step(now + SOON)

    def on_failure(self, session: Session, row_id: str, trouble: Trouble) -> None:
        """Shows on the card that the cluster did not allow the deletion."""
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
