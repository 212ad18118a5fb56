"""Sweeps above a cost limit: approved as a whole, by what their runs cost together."""

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import Session, select

from bot.approvals import ApprovalPhase, Verdict
from bot.audit import lines_about
from bot.config import Limits
from bot.datasets.tables import Dataset
from bot.errors import NotAllowedError
from bot.holds import Hold
from bot.slack.grammar.container_parameters import DataMount
from bot.slack.messages import Message
from bot.training.placing.limits import CostlyRunError
from bot.training.requests.tables import RequestPhase
from bot.training.sweeps.tables import Sweep
from tests.bot.datasets.caches.rows import add_cache, add_cached, add_version
from tests.bot.ground import ALICE, BOB, CAROL, ERIN, TEAM_A
from tests.bot.training.requests.requesting import APPROVALS, DATASETS, Requesting
from tests.bot.training.requests.test_requests import lines
from tests.bot.training.sweeps.sweeping import phases, runs, shown, sweeps
from tests.databases import ON_BOTH

COSTS = (
    "On template burst, this sweep costs 72.00 USD an hour (2 runs at once x 36.00); its limit is"
    " 20.00 USD an hour."
)


def only(requesting: Requesting) -> Sweep:
    """The one sweep there is."""
    return requesting.do(lambda session: session.exec(select(Sweep)).one())


def test_a_costly_sweep_waits_for_approval(requesting: Requesting) -> None:
    row_id = requesting.request_sweep(at_most=2)
    requesting.pass_time(minutes=30)
    assert requesting.runs() == []
    assert requesting.do(lambda session: session.exec(select(Sweep)).all()) == []
    assert requesting.told.splitlines() == [
        COSTS,
        (
            "Requested an approval to submit `wide` for team-a. @U0CAROL or @U0ERIN can give it"
            " until 2026-11-22 12:00 UTC."
        ),
        "Then the sweep is submitted. A card in this channel shows the request.",
    ]
    messages = requesting.do(lambda session: session.exec(select(Message)).all())
    assert {each.subject_id for each in messages} == {row_id}


def test_approvers_see_cells_times_price(requesting: Requesting) -> None:
    row_id = requesting.request_sweep(at_most=2, time=timedelta(hours=10))
    assert lines(requesting.shown(row_id, APPROVALS)) == [
        "⏳ Sweep wide of team-a, above a cost limit · Waiting for approval",
        (
            "It is submitted once its cost is approved. Until then it has no place in a queue, and"
            " its name stays free."
        ),
        (
            "1. Each run waits on dgx (queue team-a of cluster default) for 10m. It costs 16.00 USD"
            " an hour."
        ),
        (
            "2. Each run waits on burst (queue team-a of cluster lab) until it is admitted."
            " It costs 36.00 USD an hour."
        ),
        "Waiting for 1 approval until 2026-11-22 12:00 UTC.",
        "@U0CAROL or @U0ERIN can decide.",
        (
            "Cost on burst 72.00 USD an hour (2 runs at once x 36.00), at most 1,080.00 USD in all"
            " (3 cells x 360.00) within their time limit of 10h; the limit is 20.00 USD an hour"
        ),
        "Cells 3: bs=32,64,128",
        "At once 2 at most",
        (
            "Uses 8 GPUs of h100, 64 cores and 576Gi memory (including 64Gi of /dev/shm) for each"
            " run"
        ),
        "Image `ghcr.io/acme/lane:3.1`",
        "Command `python train.py --epochs 3 --bs '{bs}'`",
        "Requested by Alice in #C0TEAMA",
        "[Approve] [Deny]",
    ]


@ON_BOTH
def test_one_approval_submits_all_its_cells(requesting: Requesting) -> None:
    row_id = requesting.request_sweep(at_most=1)
    requesting.decides(row_id)
    for _ in range(10):
        requesting.restart()
        requesting.pass_time(seconds=2)
    row = requesting.row(row_id)
    assert (row.phase, requesting.approval(row_id).phase) == (
        RequestPhase.SUBMITTED, ApprovalPhase.USED,
    )  # fmt: skip
    assert requesting.runs() == [("wide-1", ALICE, TEAM_A)]
    assert row.run_id == runs(requesting)[0].id
    assert requesting.notes(row_id) == {
        "ended": (
            f"<@{ALICE}> The cost of `wide` was approved, and it is submitted. Its own card"
            " follows it."
        )
    }
    told = requesting.do(lambda session: lines_about(session, row_id))
    assert [(each.verb, each.person) for each in told] == [
        ("run.request", ALICE), ("approval.approve", ERIN), ("run.request_ended", None),
    ]  # fmt: skip
    requesting.pass_time(minutes=60)
    assert phases(requesting) == dict.fromkeys(("wide-1", "wide-2", "wide-3"), "succeeded")
    assert requesting.runs() == [(f"wide-{number}", ALICE, TEAM_A) for number in (1, 2, 3)]
    assert "Approved and submitted" in requesting.shown(row_id)
    assert only(requesting).phase == "ended"


def test_many_small_cells_do_not_pass_a_limit(requesting: Requesting) -> None:
    """A run with two GPUs costs 9.00 USD an hour, so two of them are below the limit of 20."""
    requesting.look()
    assert sweeps(requesting, "small", gpus=2, templates=("burst",), at_most=2)
    with pytest.raises(CostlyRunError) as caught:
        sweeps(requesting, gpus=2, templates=("burst",))
    assert (caught.value.message, caught.value.hint) == (
        (
            "On template burst, this sweep costs 27.00 USD an hour (3 runs at once x 9.00); above"
            " 20.00 USD an hour, only leads and admins can submit a sweep to it."
        ),
        "Ask a lead of the team to submit it, lower `--at-most`, or leave the template out.",
    )
    assert sweeps(requesting, person=ERIN, gpus=2, templates=("burst",))


def test_a_price_changed_meanwhile_is_refused(requesting: Requesting) -> None:
    row_id = requesting.request_sweep(at_most=2)
    requesting.decides(row_id)
    requesting.set_policy({"price_per_gpu_hour": 6})
    requesting.pass_time(minutes=1)
    assert (requesting.row(row_id).phase, requesting.runs()) == (RequestPhase.REFUSED, [])
    assert requesting.notes(row_id)["ended"].splitlines() == [
        (
            f"<@{ALICE}> `wide` was not submitted. It would cost 96.00 USD an hour on burst now,"
            " and 72.00 USD an hour on burst was approved. Nothing was submitted."
        ),
        "Submit the sweep again, which requests that.",
    ]


def test_a_price_changed_between_cells_stops_the_sweep(requesting: Requesting) -> None:
    row_id = requesting.request_sweep(at_most=1)
    requesting.decides(row_id)
    requesting.pass_time(seconds=30)
    requesting.set_policy({"price_per_gpu_hour": 6})
    requesting.pass_time(minutes=20)
    assert phases(requesting) == {"wide-1": "succeeded"}
    assert shown(requesting, only(requesting).id).splitlines()[:4] == [
        "⏹️ Sweep wide · Stopped",
        "3 cells: 1 succeeded, 2 not submitted.",
        (
            "wide-2 was refused: It would cost 48.00 USD an hour on burst now, and 36.00 USD an"
            " hour on burst was approved."
        ),
        "Ask a lead of the team to submit it, lower `--at-most`, or leave the template out.",
    ]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"limits": Limits(sweep_cells=2)}, "3 cells exceed the limit of team-a for one sweep: 2."),
        ({"limits": Limits(gpus_per_run=4)}, "8 GPUs exceed the limit of team-a for one run: 4."),
    ],
)
def test_an_approved_sweep_is_checked_again(
    requesting: Requesting, more: dict[str, Any], said: str
) -> None:
    row_id = requesting.request_sweep()
    team = requesting.policy.teams["team-a"]
    requesting.policy.teams["team-a"] = team.model_copy(update=more)
    requesting.decides(row_id)
    requesting.pass_time(minutes=1)
    assert (requesting.row(row_id).phase, requesting.runs()) == (RequestPhase.REFUSED, [])
    assert requesting.row(row_id).reason.endswith(said)


def test_a_cells_name_taken_meanwhile_is_refused(requesting: Requesting) -> None:
    row_id = requesting.request_sweep()
    requesting.submit("wide-2", gpus=1)
    requesting.decides(row_id)
    requesting.pass_time(minutes=1)
    assert requesting.row(row_id).reason == (
        "wide-2 has not ended, and a run of the sweep would have its name."
    )
    assert [name for name, *_ in requesting.runs()] == ["wide-2"]


def test_an_unread_cluster_delays_an_approved_sweep(requesting: Requesting) -> None:
    requesting.set_policy({"gpu_type": "h100"})
    row_id = requesting.request_sweep()
    requesting.decides(row_id)
    requesting.lose_lab()
    requesting.pass_time(minutes=2)
    row = requesting.row(row_id)
    assert (row.phase, row.obstacle) == ("asked", "Cluster lab has not been read yet.")
    assert requesting.approval(row_id).phase == ApprovalPhase.APPROVED
    requesting.other.cluster.faults.unavailable = False
    requesting.pass_time(minutes=2)
    assert requesting.row(row_id).phase == RequestPhase.SUBMITTED
    assert requesting.approval(row_id).phase == ApprovalPhase.USED
    assert len(requesting.runs()) == len(("wide-1", "wide-2", "wide-3"))


def test_a_denied_sweep_submits_nothing(requesting: Requesting) -> None:
    row_id = requesting.request_sweep()
    requesting.decides(row_id, verdict=Verdict.DENY)
    requesting.pass_time(minutes=5)
    assert (requesting.row(row_id).phase, requesting.runs()) == (RequestPhase.DENIED, [])


def test_others_cannot_withdraw_a_sweep(requesting: Requesting) -> None:
    row_id = requesting.request_sweep(person=ALICE)
    row = requesting.row(row_id)
    stranger = requesting.caller(BOB)
    with pytest.raises(NotAllowedError, match="requested this sweep"):
        requesting.do(
            lambda s: requesting.requests.withdraw(s, stranger, row, requesting.clock.now())
        )
    requesting.withdraws(row_id, CAROL)
    assert requesting.row(row_id).phase == RequestPhase.WITHDRAWN


def test_a_cell_again_is_priced_alone(requesting: Requesting) -> None:
    """The approval was for the sweep; a cell that costs too much by itself needs its own."""
    row_id = requesting.request_sweep(gpus=4, templates=("burst",), at_most=2)
    requesting.decides(row_id)
    requesting.pass_time(minutes=60)
    assert set(phases(requesting).values()) == {"succeeded"}
    assert requesting.get(requesting.resubmit("wide-1")).reference == "wide-1#2"
    requesting.set_policy({"leads_above": 10})
    again = requesting.row(requesting.request_again("wide-2"))
    assert (again.name, again.what, len(again.costs)) == ("wide-2", "run", 1)


def test_all_cells_read_the_data_that_was_shown(requesting: Requesting) -> None:
    """A version that is recorded while it waits changes nothing."""
    requesting.set_policy(datasets=DATASETS, dgx={"leads_above": 10})
    dataset_id = requesting.do(lambda session: add_cached(session).dataset_id)
    data = (DataMount("chest-xray", "/data"),)
    row_id = requesting.request_sweep(templates=("dgx",), data=data)
    assert "Data chest-xray@v3" in lines(requesting.shown(row_id))
    assert requesting.do(lambda session: session.exec(select(Hold)).all()) == []

    def newer(session: Session) -> None:
        dataset = session.get_one(Dataset, dataset_id)
        add_cache(session, add_version(session, dataset, "v4", digest="sha256:" + 64 * "b"))

    requesting.do(newer)
    requesting.decides(row_id)
    requesting.pass_time(minutes=1)
    read = [[each["reference"] for each in run.spec["data"]] for run in runs(requesting)]
    assert read == [["chest-xray@v3"]] * 3
