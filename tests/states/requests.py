"""States of requests to submit runs above a cost limit."""

from collections.abc import Iterator
from typing import Any

from bot.approvals import ApprovalPhase, Verdict
from bot.training.requests.tables import RUN_REQUEST, RequestPhase, RunRequest
from bot.training.tables import RunPhase
from tests.handlers.command_client import ALICE, APPROVALS
from tests.states.quotas import approval, vote
from tests.states.runs import SPEC, run
from tests.states.state import DAY, HOUR, MINUTE, NOW, SILENT, State, card, usual

_WIDE = SPEC | {"gpus": "8", "cpu": "64", "memory": "512Gi", "time_limit_seconds": 36_000}
_OF_H100 = {"gpu_type": "h100"}
_DGX = {"template": "dgx", "cluster": "default", "queue": "team-a", "after_seconds": 1800,
        "price": "16.00 USD an hour", "spec": _WIDE | _OF_H100}  # fmt: skip
_BURST = {"template": "burst", "cluster": "default", "queue": "burst", "after_seconds": 1800,
          "price": "36.00 USD an hour", "spec": _WIDE}  # fmt: skip
_ABOVE = {"template": "burst", "cluster": "default", "queue": "burst", "hourly": "36.00",
          "limit": "20", "currency": "USD"}  # fmt: skip


def request(**more: Any) -> RunRequest:
    """Alice's request for a run on eight GPUs."""
    asked = NOW - HOUR
    fields = usual(name="wide", places=[_DGX, _BURST], costs=[_ABOVE], asked_at=asked, since=asked)
    del fields["namespace"], fields["cluster"]
    return RunRequest(**(fields | more))


def states() -> Iterator[State]:
    """All of them."""
    asked = approval(RUN_REQUEST, "run_cost", ApprovalPhase.ASKED)
    yield card("request-pending", request(), asked, channel=APPROVALS)
    yield card("request-pending-in-its-channel", request(), asked)
    unknown = [_ABOVE | {"hourly": None}]
    plain = [_BURST | {"price": "", "spec": _WIDE | {"time_limit_seconds": None}}]
    costs = request(costs=unknown, places=plain)
    yield card("request-pending-without-price", costs, asked, channel=APPROVALS)
    yield _of_sweep()
    checking = "Whether Alice may submit runs is being checked."
    yield card("request-blocked", request(obstacle=checking), asked)
    yield card("request-retrying", request(trouble=SILENT), asked)
    yield from _ended()


def _of_sweep() -> State:
    command = ["python", "train.py", "--lr", "{lr}"]
    spec = _WIDE | {"command": command}
    places = [each | {"spec": spec | types} for each, types in ((_DGX, _OF_H100), (_BURST, {}))]
    terms = {"parameters": [["lr", ["0.1", "0.03", "0.01"]]], "at_most": 2}
    costs = [_ABOVE | {"hourly": "72.00", "at_once": 2}]
    row = request(name="tune", places=places, costs=costs, sweep=terms)
    asked = approval(RUN_REQUEST, "run_cost", ApprovalPhase.ASKED)
    return card("request-pending-of-sweep", row, asked, channel=APPROVALS)


def _ended() -> Iterator[State]:
    end = {"ended_at": NOW, "since": NOW}
    used = approval(RUN_REQUEST, "run_cost", ApprovalPhase.USED)
    done = request(phase=RequestPhase.SUBMITTED, run_id="run", **end)
    wide = run(id="run", name="wide", phase=RunPhase.PENDING)
    yield card("request-submitted", done, used, vote(), wide)
    why = {
        "reason": "wide has not ended, and live runs of a team must have different names.",
        "unblock": "Wait until it ends, or choose another name.",
    }
    yield card("request-refused", request(phase=RequestPhase.REFUSED, **why, **end), used, vote())
    denied = approval(RUN_REQUEST, "run_cost", ApprovalPhase.DENIED)
    no = vote(Verdict.DENY)
    yield card("request-denied", request(phase=RequestPhase.DENIED, **end), denied, no)
    late = approval(RUN_REQUEST, "run_cost", ApprovalPhase.EXPIRED, expires_at=NOW - MINUTE)
    old = request(phase=RequestPhase.EXPIRED, asked_at=NOW - DAY, **end)
    yield card("request-expired", old, late)
    void = approval(RUN_REQUEST, "run_cost", ApprovalPhase.VOIDED)
    gone = request(phase=RequestPhase.WITHDRAWN, withdrawn_by=ALICE, **end)
    yield card("request-withdrawn", gone, void)
