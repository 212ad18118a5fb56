"""The quota commands: status, requests for overrides and bases, history, and revoking."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from sqlalchemy import select
from sqlmodel import col

from bot.approvals import ApprovalPhase, Approvals, Request
from bot.approvals.deciding import places
from bot.audit import Actor, record
from bot.config import Settings
from bot.database.database import Session
from bot.errors import ConflictError, NotAllowedError, NotFoundError
from bot.people.access import Access, Caller, Right, Role, bound
from bot.quotas.engines.engine import EngineTerms, Queues
from bot.quotas.engines.quota import QuotaField
from bot.quotas.engines.registry import DEFAULT, Engines
from bot.quotas.overrides.beginning import digest_of, looks_in_view, quota_at, starts
from bot.quotas.overrides.effect import Effect, foresee
from bot.quotas.overrides.patch import BasePatch, base_patch
from bot.quotas.overrides.request import Facts, OverrideRequest, base_row, override_row
from bot.quotas.status import TeamStatus, team_status
from bot.quotas.tables import (
    LIVE,
    OVERRIDE,
    QUOTA,
    ManagedQuota,
    Mode,
    Override,
    OverridePhase,
    subject_of,
)
from bot.quotas.wording import change, number
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from bot.rights import EVERYBODY
from bot.slack.markup import join, person, plain
from bot.slack.messages import ThreadMessage, post_once, refresh_cards, show_card

HISTORY = 15
# Every `/quota status` runs it, so it is built once.
_IN_FORCE = (
    select(Override)
    .where(
        col(Override.phase).in_(
            (OverridePhase.APPROVED, OverridePhase.ACTIVE, OverridePhase.ENDING)
        )
    )
    .order_by(col(Override.id))
)


@dataclass(frozen=True)
class Decision:
    """Who decided, and until when others can; None when it is decided."""

    people: tuple[str, ...]
    open_until: datetime | None


class QuotaService:
    """Implements the quota commands. Writes rows and reads views; no external calls."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        access: Access,
        approvals: Approvals,
        engines: Engines,
    ) -> None:
        self._settings = settings
        self._access = access
        self._approvals = approvals
        self._engines = engines

    def queues(self, cluster: str) -> Queues:
        """The queues of a cluster; NotFoundError when it is not configured."""
        return self._engines.of(cluster).queues

    def words(self, cluster: str) -> EngineTerms:
        """The terms of a cluster's engine; the default's if the cluster is not configured."""
        engine = self._engines.get(cluster)
        return engine.words if engine else DEFAULT.terms

    def status(self, session: Session, teams: Iterable[str]) -> list[TeamStatus]:
        """The quota of these teams, from the view and the database."""
        settings = self._settings().teams
        active = self._active(session)
        found = []
        for name in teams:
            for cluster in settings[name].reach:
                engine, team = self._engines.of(cluster), settings[name].on(cluster)
                rows = [row for row in active.get(name, ()) if row.cluster == cluster]
                found.append(team_status(engine.queues, name, team, rows, engine.trouble()))
                if team.interactive_queue is not None:
                    theirs = team.for_sessions
                    apart = team_status(engine.queues, name, theirs, (), engine.trouble())
                    found.append(replace(apart, is_for_sessions=True))
        return found

    def request(
        self, session: Session, request: OverrideRequest, asker: Caller, now: datetime
    ) -> Override:
        """Requests an override; it is pending then. UserError says what is wrong."""
        row = override_row(self._facts(session, request), request, asker, now)
        return self._ask(
            session, row, "quota_override", asker, now, breaks_glass=request.break_glass
        )

    def set_base(
        self, session: Session, request: OverrideRequest, asker: Caller, now: datetime
    ) -> Override:
        """Requests a change of the team's base quota; it is pending then."""
        row = base_row(self._facts(session, request), request, asker, now)
        return self._ask(session, row, "quota_base", asker, now, breaks_glass=request.break_glass)

    def outlook(
        self, session: Session, request: OverrideRequest, asker: Caller, now: datetime
    ) -> tuple[Override, Effect | None]:
        """The override that a request would make, and what it would change if approved now.

        UserError says what is wrong with it. Nothing is requested.
        """
        row = override_row(self._facts(session, request), request, asker, now)
        return row, self.foresee(session, row, now)

    def base_outlook(
        self, session: Session, request: OverrideRequest, asker: Caller, now: datetime
    ) -> tuple[Override, Effect | None]:
        """Like `outlook`, for a change of the base quota."""
        row = base_row(self._facts(session, request), request, asker, now)
        return row, self.foresee(session, row, now)

    def base_patch(
        self, session: Session, request: OverrideRequest, asker: Caller, now: datetime
    ) -> BasePatch:
        """A change of the base quota for GitOps; UserError says what is wrong with it."""
        facts = replace(self._facts(session, request), is_written=True)
        row = base_row(facts, request, asker, now)
        self.foresee(session, row, now)
        return base_patch(session, row)

    def foresee(self, session: Session, row: Override, now: datetime) -> Effect | None:
        """What a request would change if it were approved now; None if that is unknown.

        ConflictError says why it could not start.
        """
        engine = self._engines.of(row.cluster)
        begins = starts(session, row, looks_in_view(session, engine, row), now)
        totals = {each.quota.queue: each.total for each in begins or ()}
        return foresee(engine.queues, row, totals) if begins else None

    def history(self, session: Session, team: str | None) -> list[Override]:
        """The newest overrides of a team, or of all."""
        statement = select(Override).order_by(col(Override.id).desc()).limit(HISTORY)
        if team is not None:
            statement = statement.where(
                (col(Override.team) == team) | (col(Override.donor_team) == team)
            )
        return list(session.scalars(statement))

    def undecided(self, session: Session) -> list[Override]:
        """The pending requests, oldest first."""
        statement = select(Override).where(col(Override.phase) == OverridePhase.ASKED)
        return list(session.scalars(statement.order_by(col(Override.id))))

    def decision(self, session: Session, row: Override) -> Decision:
        """Who has voted on an override, and until when others can (None if they cannot)."""
        approval = self._approvals.of(session, OVERRIDE, row.id)
        if approval is None:
            return Decision((), None)
        people = tuple(vote.person for vote in self._approvals.votes(session, approval))
        is_open = approval.phase == ApprovalPhase.ASKED
        return Decision(people, approval.expires_at if is_open else None)

    def revoke(
        self, session: Session, wanted: str | None, caller: Caller, now: datetime
    ) -> Override:
        """Ends an override early: the one with this number, or the newest."""
        row = self._one_to_revoke(session, wanted, caller)
        row.revoked_at, row.revoked_by = now, caller.person
        approval = self._approvals.of(session, OVERRIDE, row.id)
        if row.phase == OverridePhase.ASKED and approval is not None:
            self._approvals.void(session, approval, "revoked before it started", now)
        wake(session, OVERRIDE, row.id, cluster_lane(row.cluster), now)
        refresh_cards(session, subject_of(row), live=False)
        self._record(session, row, "quota.revoke", caller, now)
        return row

    def take_over(
        self, session: Session, value: str, caller: Caller, now: datetime, *, theirs: bool
    ) -> ManagedQuota:
        """Resolves a quota changed outside Quartermaster; `value` is that of the button.

        With `theirs` the external value becomes the base, else it is overwritten.
        """
        quota_id, _, shown = value.partition(":")
        quota = session.get(ManagedQuota, quota_id)
        if quota is None or quota.external_value is None or f"{quota.external_value:f}" != shown:
            raise ConflictError(
                "The value has changed since the card was posted.", "Check the card again."
            )
        facts = {"queue": quota.queue, "theirs": shown, "taken": str(theirs)}
        if theirs:
            quota.baseline = quota.external_value
        quota.last_written, quota.external_value = quota.external_value, None
        quota.stopped_because = ""
        wake(session, QUOTA, quota.id, cluster_lane(quota.cluster), now)
        actor = Actor(quota.workspace_id, caller.person, caller.channel)
        record(session, actor, "quota.take_over", (QUOTA, quota.id), facts, at=now)
        return quota

    def _facts(self, session: Session, request: OverrideRequest) -> Facts:
        settings = self._settings()
        cluster = bound(request.team, settings.teams[request.team], request.cluster).cluster

        def base_of(place: QuotaField) -> Decimal | None:
            quota = quota_at(session, cluster, place)
            return quota.baseline if quota else None

        return Facts(settings, cluster, self.queues(cluster), base_of)

    def _ask(
        self,
        session: Session,
        row: Override,
        policy: str,
        asker: Caller,
        now: datetime,
        *,
        breaks_glass: bool,
    ) -> Override:
        if breaks_glass:
            self._access.require(asker, Right.BREAK_GLASS)
        self.foresee(session, row, now)  # what could not start is refused immediately
        session.add(row)
        session.flush()
        request = Request(
            subject_kind=OVERRIDE,
            subject_id=row.id,
            lane=cluster_lane(row.cluster),
            policy=policy,
            digest=digest_of(row),
            requester=asker,
            reason=row.reason,
            breaks_glass=breaks_glass,
        )
        approval = self._approvals.ask(session, request, now)
        self._show(session, row, policy, now)
        self._record(session, row, "quota.request", asker, now)
        if breaks_glass:
            self._approvals.break_glass(session, approval.id, asker, now)
            self._alert(session, row, now)
        return row

    def _show(self, session: Session, row: Override, policy: str, now: datetime) -> None:
        """Posts a card to the approvers, to the channel of the request, and to the donor team."""
        subject, settings = subject_of(row), self._settings()
        circle = getattr(settings.approvals, policy).approvers
        deciders = sorted(self._access.people_in(session, circle) - {row.requester})
        for channel in self._deciding(deciders):
            owner = next(iter(deciders), None)
            show_card(session, subject, channel, now, live=False, owner=owner)
        show_card(session, subject, row.channel, now, live=False, owner=row.requester)
        if row.donor_team:
            for channel in settings.teams[row.donor_team].channels[:1]:
                show_card(session, subject, channel, now, live=False)

    def _deciding(self, deciders: Sequence[str]) -> Sequence[str]:
        return places(self._settings(), deciders)

    def _alert(self, session: Session, row: Override, now: datetime) -> None:
        text = join("*Break-glass*: ", person(row.requester), " approved alone: ",
                    plain(f"{row.team}, {change(row)}. {row.reason}"))  # fmt: skip
        for channel in self._deciding(()):
            note = ThreadMessage("break-glass", (text,), in_thread=False)
            post_once(session, subject_of(row), channel, note, now)

    def _one_to_revoke(self, session: Session, wanted: str | None, caller: Caller) -> Override:
        statement = select(Override).order_by(col(Override.id).desc())
        if wanted is None:
            statement = statement.where(col(Override.phase).in_(LIVE))
            if caller.team is not None:
                statement = statement.where(col(Override.team) == caller.team)
        found = [
            row
            for row in session.scalars(statement)
            if (wanted is None or row.id.endswith(wanted)) and _may_see(row, caller)
        ]
        if not found:
            which = f"override {wanted}" if wanted else "override that can be revoked"
            raise NotFoundError(f"There is no {which} here.", "The history lists all overrides.")
        row = found[0]
        if row.phase not in LIVE or row.revoked_at or row.phase == OverridePhase.ENDING:
            said = OverridePhase.REVOKED if row.revoked_at else row.phase
            raise ConflictError(
                f"Override {number(row)} is already {said}.", "Nothing was changed."
            )
        self._require_to_revoke(row, caller)
        return row

    def _require_to_revoke(self, row: Override, caller: Caller) -> None:
        is_head = Role.ADMIN in caller.roles or (
            Role.LEAD in caller.roles and caller.team in {row.team, row.donor_team}
        )
        is_theirs = row.requester == caller.person and not caller.roles.isdisjoint(EVERYBODY)
        if is_theirs or (is_head and caller.may(Right.QUOTA_REVOKE_ANY)):
            return
        raise NotAllowedError(
            f"Override {number(row)} was requested by <@{row.requester}>.",
            "They, a lead of the team or a platform admin can revoke it.",
        )

    def _active(self, session: Session) -> dict[str, list[Override]]:
        found: dict[str, list[Override]] = {}
        for row in session.scalars(_IN_FORCE):
            if row.mode != Mode.BASE:
                found.setdefault(row.team, []).append(row)
        return found

    def _record(
        self, session: Session, row: Override, verb: str, caller: Caller, now: datetime
    ) -> None:
        actor = Actor(row.workspace_id, caller.person, caller.channel, row.team)
        facts = {"change": change(row), "reason": row.reason, "mode": row.mode}
        record(session, actor, verb, (OVERRIDE, row.id), facts, at=now)


def _may_see(row: Override, caller: Caller) -> bool:
    return Role.ADMIN in caller.roles or caller.team in {row.team, row.donor_team}
