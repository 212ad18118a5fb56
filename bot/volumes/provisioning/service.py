"""Requests capacity pools to be created or deleted. The controller does the rest."""

from collections.abc import Callable
from datetime import datetime

from sqlmodel import Session, col, select

from bot.approvals import Approvals, Request
from bot.approvals.deciding import show_to_deciders
from bot.audit import Actor, record
from bot.config import Settings
from bot.errors import ConflictError, NotFoundError
from bot.people.access import Caller
from bot.slack.messages import show_card
from bot.volumes.anf import NetAppFiles
from bot.volumes.changes.tables import VolumeChange
from bot.volumes.levels import monthly_price
from bot.volumes.provisioning.plan import (
    NOTHING,
    NamedAccount,
    PoolOrder,
    PoolPlan,
    account_of,
    allowed,
    plan_creation,
    plan_deletion,
    read,
    refuse_forbidden,
)
from bot.volumes.provisioning.record import finish
from bot.volumes.provisioning.tables import (
    LANE,
    POOL_REQUEST,
    PoolPhase,
    PoolRequest,
    PoolVerb,
)
from bot.volumes.resources import PoolPlace
from bot.volumes.wording import capacity

POLICY = "anf_pool"


class PoolService:
    """The service that handlers call; only `plan` calls Azure, and it changes nothing.

    The right of a `Caller` to use the verb was checked before.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        files: NetAppFiles,
        approvals: Approvals,
        installation: str,
    ) -> None:
        self._settings = settings
        self._files = files
        self._approvals = approvals
        self._installation = installation

    def account(self, named: str | None) -> NamedAccount:
        """The account that was named, or the only one; UserError if pools cannot be changed."""
        anf = self._files.configured
        allowed(anf)
        return account_of(anf, named)

    def order(self, value: str) -> PoolOrder:
        """The order in the value of a button; raises UsageError if its format is outdated."""
        return read(self._files.configured, value)

    def check(self, session: Session, caller: Caller, asked: PoolOrder) -> None:
        """Raises UserError for what can be refused without asking Azure."""
        refuse_forbidden(self._files.configured, asked)
        live = session.exec(
            select(PoolRequest).where(
                col(PoolRequest.place_key) == key_of(asked.place),
                col(PoolRequest.ended_at).is_(None),
            )
        ).first()
        if live is not None:
            raise ConflictError(
                f"<@{live.person}> already requested to {live.verb} pool {live.pool}.",
                f"Its card in <#{live.channel}> shows the progress.",
            )
        needs = changing(session, asked.place) if asked.verb is PoolVerb.DELETE else ""
        if needs:
            raise ConflictError(f"{needs} {NOTHING}", "Wait until that has ended.")
        self._approvals.foresee(session, POLICY, caller)

    def plan(self, asked: PoolOrder) -> PoolPlan:
        """What the order would do, from Azure's state now; raises UserError if impossible."""
        anf, place = self._files.configured, asked.place
        found = self._files.pool(place)
        if asked.verb is PoolVerb.CREATE:
            return plan_creation(anf, asked, found)
        inside = self._files.volumes(place) if found is not None else []
        return plan_deletion(anf, asked, found, inside, self._installation)

    def ask(self, session: Session, caller: Caller, asked: PoolOrder, now: datetime) -> PoolRequest:
        """Requests an order that was planned; nothing is done before another person approves it."""
        self.check(session, caller, asked)
        row = self._row(caller, asked, now)
        session.add(row)
        session.flush()
        facts = {"pool": row.pool, "account": row.account, "subscription": row.subscription}
        facts |= {"level": row.level, "size": str(row.size_bytes), "qos": row.qos}
        actor = Actor(row.workspace_id, row.person, row.channel, caller.team)
        record(session, actor, f"anf.pool_{row.verb}", (POOL_REQUEST, row.id), facts, at=now)
        show_card(session, row.subject, row.channel, now, live=True, owner=row.person)
        why = f"{row.verb} pool {row.pool} ({row.level}, {capacity(row.size_bytes)})"
        request = Request(POOL_REQUEST, row.id, LANE, POLICY, row.digest, caller, why)
        approval = self._approvals.ask(session, request, now)
        show_to_deciders(session, self._approvals, self._settings(), approval, now)
        return row

    def get(self, session: Session, row_id: str) -> PoolRequest:
        """The request of a button; raises NotFoundError if there is none."""
        row = session.get(PoolRequest, row_id)
        if row is None:
            raise NotFoundError("This request no longer exists.")
        return row

    def withdraw(self, session: Session, caller: Caller, row: PoolRequest, now: datetime) -> None:
        """Withdraws a request that is not approved yet; raises ConflictError if it has begun."""
        if row.phase != PoolPhase.ASKED:
            stands = "started" if row.is_live else "ended"
            raise ConflictError(
                f"The request to {row.verb} pool {row.pool} has already {stands}.",
                "Your click changed nothing.",
            )
        self._approvals.void_for(session, (POOL_REQUEST, row.id), "it was withdrawn", now)
        row.withdrawn_by = caller.person
        actor = Actor(caller.workspace_id, caller.person, caller.channel)
        facts = {"pool": row.pool, "account": row.account, "subscription": row.subscription}
        record(session, actor, "anf.pool_withdraw", (POOL_REQUEST, row.id), facts, at=now)
        finish(session, row, PoolPhase.WITHDRAWN, now)

    def _row(self, caller: Caller, asked: PoolOrder, now: datetime) -> PoolRequest:
        place = asked.place
        cost = monthly_price(self._files.configured, asked.level, asked.size_bytes)
        return PoolRequest(
            workspace_id=caller.workspace_id,
            verb=asked.verb,
            person=caller.person,
            channel=caller.channel,
            subscription=place.subscription,
            resource_group=place.group,
            account=place.account,
            pool=place.pool,
            place_key=key_of(place),
            level=asked.level,
            qos=asked.qos,
            size_bytes=asked.size_bytes,
            mibps=asked.mibps,
            cost=cost,
            uuid=asked.uuid,
            is_own=asked.is_own,
            asked_at=now,
            since=now,
        )


def key_of(place: PoolPlace) -> str:
    """A pool's place in lower case, as Azure compares names."""
    return "/".join(place).lower()


def changing(session: Session, place: PoolPlace) -> str:
    """The change of a volume that needs a pool, as a sentence; empty if there is none."""
    live = session.exec(select(VolumeChange).where(col(VolumeChange.ended_at).is_(None)))
    for each in live:
        if each.uses(place):
            return f"A change of PVC {each.claim_name} uses pool {place.pool}."
    return ""
