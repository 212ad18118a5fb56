"""Carries out a slot of a flow's schedule: starts its runs, or says why it does not."""

from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.audit import Actor, record
from bot.database.prepared import savepoint
from bot.errors import UserError
from bot.people.access import Access, Caller, Right, UnknownPersonError
from bot.schedule import next_slot
from bot.slack.markup import FormatCommand
from bot.slack.messages import refresh_cards
from bot.training.flows.awaited import Awaited, awaited_of
from bot.training.saved_flows import notices
from bot.training.saved_flows.decide import Decision, MissSlot, SkipSlot, StartFlow, decide, is_due
from bot.training.saved_flows.starting import FlowStarter
from bot.training.saved_flows.tables import FLOW, Flow, FlowPhase
from bot.training.spec import Predecessor
from bot.training.wording import listed, name_of

AGAIN = "Retrying every minute."


@dataclass(frozen=True)
class FlowRecorder:
    """Writes the steps of schedules; `starter` submits runs, for people as `access` knows them."""

    access: Access
    starter: FlowStarter
    format_command: FormatCommand

    def take(self, session: Session, flow_id: str, due: datetime, now: datetime) -> None:
        """Takes the slot `due`, unless another process or a person was faster."""
        flow = session.get(Flow, flow_id)
        if flow is None or flow.next_at != due or not is_due(flow, now):
            return
        try:
            caller = self._caller(session, flow)
        except UnknownPersonError:
            owner = name_of(session, flow.workspace_id, flow.scheduler)
            _hinder(session, flow, f"Whether {owner} may submit runs is being checked. {AGAIN}")
            return
        except UserError:
            self._pause(session, flow, now)
            return
        flow.next_at = next_slot(flow.cron, flow.time_zone, now)
        flow.obstacle = flow.trouble = ""
        decision = decide(flow, due, previous_of(session, flow), now)
        self._carry_out(session, flow, caller, decision, now)
        session.add(flow)
        refresh_cards(session, flow.subject, live=False)

    def _caller(self, session: Session, flow: Flow) -> Caller:
        """Who scheduled the flow, by their rights of today; UserError if they may not submit."""
        caller = self.access.member(session, flow.scheduler or "", flow.channel, flow.team)
        self.access.require(caller, Right.RUN_SUBMIT)
        return caller

    def _carry_out(
        self, session: Session, flow: Flow, caller: Caller, decision: Decision, now: datetime
    ) -> None:
        match decision:
            case SkipSlot(slot, live):
                flow.skipped += 1
                flow.reason, flow.unblock = f"{listed(live)} of the last start has not ended.", ""
                if len(live) > 1:
                    flow.reason = f"{listed(live)} of the last start have not ended."
                if flow.skipped == 1:
                    notices.skipped(session, flow, slot, self.format_command, now)
            case MissSlot(slot, why):
                self._refused(session, flow, slot, (why, ""), now)
            case StartFlow(slot, late):
                self._start(session, flow, caller, (slot, late), now)

    def _start(
        self,
        session: Session,
        flow: Flow,
        caller: Caller,
        slot: tuple[datetime, str],
        now: datetime,
    ) -> None:
        """Submits the runs of a slot; if one is refused, the others are taken back."""
        at, late = slot
        try:
            with savepoint(session):
                self.starter.start(session, caller, flow, "", now)
        except UserError as error:
            self._refused(session, flow, at, (error.message, error.hint), now)
        else:
            flow.reason = late

    def _refused(
        self, session: Session, flow: Flow, slot: datetime, why: tuple[str, str], now: datetime
    ) -> None:
        """Records why a slot started nothing; the same reason is posted once in a row."""
        is_new = flow.reason != why[0]
        flow.skipped = 0
        flow.reason, flow.unblock = why
        if is_new:
            notices.refused(session, flow, slot, self.format_command, now)

    def _pause(self, session: Session, flow: Flow, now: datetime) -> None:
        """Has the schedule start nothing any more: its owner may not submit runs."""
        owner = name_of(session, flow.workspace_id, flow.scheduler)
        flow.phase, flow.next_at = FlowPhase.PAUSED, None
        flow.reason = f"{owner} may no longer submit runs of {flow.team}."
        team = self.starter.settings().teams.get(flow.team)
        options = flow.schedule_options(team.time_zone if team else None)
        again = self.format_command(f"train flow schedule {flow.name} {options}")
        flow.unblock = f"A member of the team can start the schedule again: `{again}`"
        flow.obstacle = flow.trouble = ""
        session.add(flow)
        actor = Actor(flow.workspace_id, None, None, flow.team)
        facts = {"name": flow.name, "why": flow.reason}
        record(session, actor, "flow.pause", (FLOW, flow.id), facts, at=now)
        notices.paused(session, flow, now)
        refresh_cards(session, flow.subject, live=False)


def previous_of(session: Session, flow: Flow) -> tuple[Awaited, ...]:
    """The runs that the flow started last, or those as which the bot started them again."""
    return awaited_of(session, (Predecessor(run="", run_id=each) for each in flow.last_runs))


def _hinder(session: Session, flow: Flow, obstacle: str) -> None:
    if flow.obstacle != obstacle:
        flow.obstacle = obstacle
        session.add(flow)
        refresh_cards(session, flow.subject, live=False)
