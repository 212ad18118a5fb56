"""Requests for approval: who decides, how many have to, and whether an approval holds."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlmodel import Session, col

from bot.approvals.tables import (
    KIND,
    LANE,
    Approval,
    ApprovalPhase,
    Verdict,
    Vote,
    subject_of,
)
from bot.audit import Actor, record
from bot.config import Circle, LeadPolicy, Policy, Settings
from bot.errors import ConflictError, LimitError, NotAllowedError, NotFoundError
from bot.people.access import Access, Caller, Right
from bot.reconcile.due import wake
from bot.slack.card import Button
from bot.slack.markup import Markup, join, person, plain, when
from bot.slack.messages import refresh_cards


@dataclass(frozen=True)
class Request:
    """A request to be made; `policy` is a key of the configuration's approvals section.

    With `breaks_glass`, an admin is about to approve it alone, so too few approvers do not matter.
    """

    subject_kind: str
    subject_id: str
    lane: str
    policy: str
    digest: str
    requester: Caller
    reason: str
    breaks_glass: bool = False


class Approvals:
    """Makes requests, counts votes and ends requests by current policies; no external calls."""

    def __init__(self, settings: Callable[[], Settings], access: Access) -> None:
        self._settings = settings
        self._access = access

    def ask(self, session: Session, request: Request, now: datetime) -> Approval:
        """Makes a request; LimitError if there are too few approvers for it."""
        policy = self._policy(request.policy)
        if not request.breaks_glass:
            self._refuse_hopeless(session, request.policy, request.requester)
        approval = Approval(
            workspace_id=request.requester.workspace_id,
            subject_kind=request.subject_kind,
            subject_id=request.subject_id,
            lane=request.lane,
            policy=request.policy,
            digest=request.digest,
            requester=request.requester.person,
            channel=request.requester.channel,
            team=request.requester.team,
            reason=request.reason,
            needed=policy.needed,
            asked_at=now,
            expires_at=now + policy.expires,
            remind_at=now + policy.remind if policy.remind < policy.expires else None,
        )
        session.add(approval)
        wake(session, KIND, approval.id, LANE, now)
        return approval

    def foresee(self, session: Session, policy: str, requester: Caller) -> None:
        """Raises LimitError if there are too few approvers for a request of that person."""
        self._refuse_hopeless(session, policy, requester)

    def vote(
        self, session: Session, approval_id: str, voter: Caller, verdict: Verdict, now: datetime
    ) -> Approval:
        """Records a vote, and returns the request.

        NotAllowedError or ConflictError says why the person cannot vote.
        """
        approval = self._get(session, approval_id)
        self._refuse_vote(session, approval, voter, now)
        self._write_vote(session, approval, voter, verdict, now)
        if verdict is Verdict.DENY:
            self._close(session, approval, ApprovalPhase.DENIED, now)
        elif len(self._supporters(session, approval)) >= approval.needed:
            self._close(session, approval, ApprovalPhase.APPROVED, now)
        else:
            self._wake_subject(session, approval, now)
        return approval

    def break_glass(
        self, session: Session, approval_id: str, by: Caller, now: datetime
    ) -> Approval:
        """Approves a request on one admin's vote alone, and marks it as such permanently."""
        self._access.require(by, Right.BREAK_GLASS)
        approval = self._get(session, approval_id)
        if approval.phase != ApprovalPhase.ASKED:
            raise ConflictError(*self._already(session, approval))
        approval.is_break_glass = True
        self._write_vote(session, approval, by, Verdict.APPROVE, now)
        self._close(session, approval, ApprovalPhase.APPROVED, now)
        return approval

    def of(self, session: Session, subject_kind: str, subject_id: str) -> Approval | None:
        """The newest request about a subject."""
        return session.scalars(
            select(Approval)
            .where(
                col(Approval.subject_kind) == subject_kind,
                col(Approval.subject_id) == subject_id,
            )
            .order_by(col(Approval.id).desc())
        ).first()

    def waiting(self, session: Session) -> list[Approval]:
        """The pending requests, oldest first."""
        open_ones = select(Approval).where(col(Approval.phase) == ApprovalPhase.ASKED)
        return list(session.scalars(open_ones.order_by(col(Approval.id))))

    def stands(self, session: Session, approval: Approval) -> bool:
        """Whether an approved request still has enough votes under the current policy."""
        if approval.phase not in {ApprovalPhase.APPROVED, ApprovalPhase.USED}:
            return False
        if approval.is_break_glass:
            votes = self.votes(session, approval)
            return any(self._access.is_admin(session, vote.person) for vote in votes)
        return len(self._supporters(session, approval)) >= self._policy(approval.policy).needed

    def use(self, session: Session, approval: Approval, digest: str, now: datetime) -> bool:
        """Uses the approval for its action; returns False, and notes why, if it no longer holds.

        If an approver has lost the right to approve, the request is pending again. If the subject
        is no longer what the approvers saw, the request is voided. Using it twice is harmless.
        """
        if approval.phase == ApprovalPhase.USED:
            return True
        if approval.phase != ApprovalPhase.APPROVED:
            return False
        if approval.digest != digest:
            self.void(session, approval, "the request has changed since it was shown", now)
            return False
        if not self.stands(session, approval):
            approval.phase = ApprovalPhase.ASKED
            approval.decided_at = None
            approval.note = "An approver lost the right to approve, so a new approval is needed."
            approval.expires_at = max(
                approval.expires_at, now + self._policy(approval.policy).expires
            )
            wake(session, KIND, approval.id, LANE, now)
            return False
        approval.phase = ApprovalPhase.USED
        return True

    def deciders(self, session: Session, approval: Approval) -> list[str]:
        """The people whose votes a pending request waits for."""
        circle = self._circle(approval.policy, approval.team)
        said = {vote.person for vote in self.votes(session, approval)}
        return sorted(self._access.people_in(session, circle) - said - {approval.requester})

    def concerned(self, session: Session, approval: Approval) -> tuple[list[str], list[str]]:
        """The people and user groups that determine whether the votes still count."""
        voters = [vote.person for vote in self.votes(session, approval)]
        return voters, list(self._circle(approval.policy, approval.team).groups)

    def void(self, session: Session, approval: Approval, why: str, now: datetime) -> None:
        """Voids a pending or approved request, and notes why."""
        if approval.phase in {ApprovalPhase.ASKED, ApprovalPhase.APPROVED}:
            approval.note = f"Void: {why}."
            self._close(session, approval, ApprovalPhase.VOIDED, now)

    def void_for(self, session: Session, subject: tuple[str, str], why: str, now: datetime) -> None:
        """Voids the newest request about a subject (its kind and id), if there is one."""
        approval = self.of(session, *subject)
        if approval is not None:
            self.void(session, approval, why, now)

    def expire(self, session: Session, approval: Approval, now: datetime) -> None:
        """Expires a pending request whose time is over."""
        if approval.phase == ApprovalPhase.ASKED and now >= approval.expires_at:
            self._close(session, approval, ApprovalPhase.EXPIRED, now)

    def votes(self, session: Session, approval: Approval) -> list[Vote]:
        """The votes on a request, in the order they were cast."""
        return list(
            session.scalars(
                select(Vote).where(col(Vote.approval_id) == approval.id).order_by(col(Vote.id))
            )
        )

    def buttons(self, approval: Approval) -> tuple[Button, ...]:
        """Approve and Deny, while the request is pending."""
        if approval.phase != ApprovalPhase.ASKED:
            return ()
        return (
            Button("approval.approve", "Approve", approval.id, "primary"),
            Button("approval.deny", "Deny", approval.id, "danger"),
        )

    def lines(self, session: Session, approval: Approval) -> tuple[Markup, ...]:
        """The state of the request as text: votes, decision, deadline."""
        votes = self.votes(session, approval)
        said = tuple(
            join(person(v.person), " approved " if v.verdict == Verdict.APPROVE else " denied ",
                 when(v.at))
            for v in votes
        )  # fmt: skip
        note = (plain(approval.note),) if approval.note else ()
        return (*said, *note, *self._progress(approval, len(votes)))

    def _progress(self, approval: Approval, votes: int) -> tuple[Markup, ...]:
        match approval.phase:
            case ApprovalPhase.ASKED:
                missing = max(1, approval.needed - votes)
                noun = "approval" if missing == 1 else "approvals"
                until = when(approval.expires_at)
                return (join(f"Waiting for {missing} {noun} until ", until, "."),)
            case ApprovalPhase.EXPIRED:
                return (join("No decision was made by ", when(approval.expires_at), "."),)
            case _ if approval.is_break_glass:
                return (join("*Break-glass*: approved by an admin alone."),)
            case _:
                return ()

    def _refuse_hopeless(self, session: Session, name: str, requester: Caller) -> None:
        policy, circle = self._policy(name), self._circle(name, requester.team)
        deciders = self._access.people_in(session, circle) - {requester.person}
        if len(deciders) < policy.needed:
            raise LimitError(
                f"This request cannot be approved: it needs {policy.needed} approver(s) other than"
                f" you, and there {'is' if len(deciders) == 1 else 'are'} {len(deciders)}.",
                f"Ask a platform admin to add approvers to approvals.{name} in quartermaster.yaml.",
            )

    def _refuse_vote(
        self, session: Session, approval: Approval, voter: Caller, now: datetime
    ) -> None:
        if voter.person == approval.requester:
            raise NotAllowedError(
                "You cannot decide your own request.", "Another approver has to decide it."
            )
        circle = self._circle(approval.policy, approval.team)
        if not self._access.is_in(session, circle, voter.person):
            raise NotAllowedError(
                "You are not an approver of this request.",
                "The configuration names the approvers; ask a platform admin.",
            )
        if approval.phase != ApprovalPhase.ASKED:
            raise ConflictError(*self._already(session, approval))
        if now >= approval.expires_at:
            raise ConflictError("This request has expired.", "Make the request again.")

    def _already(self, session: Session, approval: Approval) -> tuple[str, str]:
        votes = self.votes(session, approval)
        by = f" by <@{votes[-1].person}>" if votes else ""
        word = "approved" if approval.phase == ApprovalPhase.USED else approval.phase
        return f"This request is already {word}{by}.", "Your click changed nothing."

    def _write_vote(
        self, session: Session, approval: Approval, voter: Caller, verdict: Verdict, now: datetime
    ) -> None:
        vote = session.scalars(
            select(Vote).where(
                col(Vote.approval_id) == approval.id, col(Vote.person) == voter.person
            )
        ).first() or Vote(approval_id=approval.id, person=voter.person, verdict="", at=now)
        vote.verdict, vote.at = verdict, now
        session.add(vote)
        session.flush()
        actor = Actor(approval.workspace_id, voter.person, voter.channel, approval.team)
        facts = {"digest": approval.digest, "break_glass": str(approval.is_break_glass)}
        verb = f"approval.{verdict}"
        record(session, actor, verb, (approval.subject_kind, approval.subject_id), facts, at=now)

    def _supporters(self, session: Session, approval: Approval) -> set[str]:
        circle = self._circle(approval.policy, approval.team)
        return {
            vote.person
            for vote in self.votes(session, approval)
            if vote.verdict == Verdict.APPROVE
            and vote.person != approval.requester
            and self._access.is_in(session, circle, vote.person)
        }

    def _close(
        self, session: Session, approval: Approval, phase: ApprovalPhase, now: datetime
    ) -> None:
        approval.phase = phase
        approval.decided_at = now
        self._wake_subject(session, approval, now)
        wake(session, KIND, approval.id, LANE, now)

    def _wake_subject(self, session: Session, approval: Approval, now: datetime) -> None:
        wake(session, approval.subject_kind, approval.subject_id, approval.lane, now)
        refresh_cards(session, subject_of(approval), live=False)

    def _circle(self, name: str, team: str | None) -> Circle:
        """The people who can decide; by a policy without any, the team's leads and the admins."""
        policy, settings = self._policy(name), self._settings()
        if not isinstance(policy, LeadPolicy) or policy.approvers != Circle():
            return policy.approvers
        found = settings.teams.get(team or "")
        circles = (settings.admins, *((found.leads,) if found else ()))
        return Circle(
            people=tuple(who for each in circles for who in each.people),
            groups=tuple(group for each in circles for group in each.groups),
        )

    def _policy(self, name: str) -> Policy:
        policy: Policy = getattr(self._settings().approvals, name)
        return policy

    def _get(self, session: Session, approval_id: str) -> Approval:
        approval = session.get(Approval, approval_id)
        if approval is None:
            raise NotFoundError("This request no longer exists.", "Make the request again.")
        return approval
