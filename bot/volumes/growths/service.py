"""Requests growths of PVCs: checks, plans and writes rows; controllers do the rest."""

from collections.abc import Mapping
from datetime import datetime

from sqlmodel import Session, col, select

from bot.approvals import Approvals
from bot.audit import Actor, record
from bot.cluster.cluster import Cluster
from bot.cluster.resources import STORAGE_CLASSES
from bot.config import Anf
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.people.access import Caller
from bot.reconcile.due import wake
from bot.slack.messages import show_card
from bot.volumes.anf import NetAppFiles
from bot.volumes.deadline import DEADLINE_SECONDS, Deadline
from bot.volumes.growths.controller import finish
from bot.volumes.growths.plan import (
    GrowthPlan,
    GrowthRequest,
    plan_growth,
    refuse_growing,
    refuse_lost,
    size_of,
)
from bot.volumes.growths.tables import GROWTH, Growth, GrowthPhase
from bot.volumes.matching import Claimed, refuse_foreign
from bot.volumes.records import ClaimPlace, refuse_stale
from bot.volumes.wording import capacity


class GrowthService:
    """The service that handlers call; only `plan` calls Azure, and it changes nothing."""

    def __init__(
        self, files: NetAppFiles, clusters: Mapping[str, Cluster], approvals: Approvals
    ) -> None:
        self._files = files
        self._clusters = clusters
        self._approvals = approvals

    def check(self, session: Session, asked: GrowthRequest, of: Claimed) -> None:
        """Raises UserError for what can be refused without asking Azure."""
        if self._files.configured.changes is None:
            raise ConflictError(
                "Changing volumes is not enabled.",
                "A platform admin can add `anf.changes` to quartermaster.yaml; see docs/anf.md.",
            )
        refuse_foreign(of, asked.team)
        claim = of.claim
        kind = self._clusters[asked.cluster].view.get(
            STORAGE_CLASSES, claim.spec.storage_class_name or ""
        )
        refuse_growing(of, kind, asked.size_bytes)
        refuse_stale(session, ClaimPlace(asked.cluster, claim.namespace, claim.name), "grown")
        other = _live(session, asked.cluster, claim.namespace, claim.name)
        if other is not None:
            raise ConflictError(
                f"<@{other.person}> already requested growth of {claim.name} to"
                f" {capacity(other.size_bytes)}.",
                f"Its card in <#{other.channel}> shows the progress.",
            )

    def plan(self, asked: GrowthRequest, of: Claimed) -> tuple[GrowthPlan, Anf]:
        """What the growth would do, from Azure's state now; raises UserError if impossible."""
        anf = self._files.configured
        estate = self._files.estate(Deadline(DEADLINE_SECONDS))
        refuse_lost(self._clusters[asked.cluster], estate, of, anf)
        return plan_growth(estate, of, asked.size_bytes, anf), anf

    def begin(
        self, session: Session, caller: Caller, asked: GrowthRequest, of: Claimed, now: datetime
    ) -> Growth:
        """Begins a growth, which its controller checks again and applies."""
        self.check(session, asked, of)
        row = Growth(
            workspace_id=caller.workspace_id,
            team=asked.team,
            person=caller.person,
            channel=caller.channel,
            cluster=asked.cluster,
            namespace=of.claim.namespace,
            claim_name=asked.claim,
            claim_uid=of.claim.uid,
            size_bytes=asked.size_bytes,
            from_bytes=size_of(of.claim),
            asked_at=now,
            since=now,
        )
        session.add(row)
        session.flush()
        facts = {"pvc": row.claim_name, "from": str(row.from_bytes), "to": str(row.size_bytes)}
        actor = Actor(row.workspace_id, row.person, row.channel, row.team)
        record(session, actor, "anf.grow", (GROWTH, row.id), facts, at=now)
        show_card(session, row.subject, row.channel, now, live=True, owner=row.person)
        wake(session, GROWTH, row.id, row.lane, now)
        return row

    def get(self, session: Session, row_id: str) -> Growth:
        """The growth of a button; raises NotFoundError if there is none."""
        row = session.get(Growth, row_id)
        if row is None:
            raise NotFoundError("This growth no longer exists.")
        return row

    def withdraw(self, session: Session, caller: Caller, row: Growth, now: datetime) -> None:
        """Withdraws a growth that has not started; raises UserError if impossible."""
        if caller.team != row.team:
            raise NotAllowedError(
                f"This growth is for a PVC of {row.team}.", "Ask a member of that team."
            )
        if not row.is_waiting:
            stands = "started" if row.is_live else "ended"
            raise ConflictError(
                f"The growth of {row.claim_name} has already {stands}.",
                "Your click changed nothing.",
            )
        self._approvals.void_for(session, (GROWTH, row.id), "it was withdrawn", now)
        row.withdrawn_by = caller.person
        actor = Actor(caller.workspace_id, caller.person, caller.channel, row.team)
        facts = {"pvc": row.claim_name}
        record(session, actor, "anf.withdraw", (GROWTH, row.id), facts, at=now)
        finish(session, row, GrowthPhase.WITHDRAWN, "", "", now)


def _live(session: Session, cluster: str, namespace: str, claim: str) -> Growth | None:
    return session.exec(
        select(Growth).where(
            col(Growth.cluster) == cluster,
            col(Growth.namespace) == namespace,
            col(Growth.claim_name) == claim,
            col(Growth.ended_at).is_(None),
        )
    ).first()
