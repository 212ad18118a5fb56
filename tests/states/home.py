"""States of people's Home tabs."""

from collections.abc import Iterator
from typing import Any

from sqlmodel import SQLModel

from bot.approvals.tables import ApprovalPhase
from bot.training.tables import RunPhase
from tests.handlers.command_client import ALICE, BOB, CAROL, DAN, ERIN, FAY, CommandClient
from tests.handlers.home_pages import view_of
from tests.states import datasets, quotas, runs, snapshots, volumes
from tests.states.state import DAY, HOUR, MINUTE, NOW, Shown, State


def home(name: str, person: str, *rows: Any) -> State:
    """The tab of a person."""

    def show(client: CommandClient) -> Shown:
        return Shown("home", view_of(client, person))

    return State(name, show, rows, kind="home")


def _runs() -> list[SQLModel]:
    """A run of each sort that Alice may have, and one of Mia's."""
    idle = runs.running(id="idle", name="sweep", idle_since=NOW - 2 * HOUR)
    session = runs.running(id="nb", name="notebook", spec=runs.SESSION, until=NOW + 6 * HOUR)
    waits = {"phase": "pending", "reason": runs.WAITS, "unblock": runs.MORE}
    waiting = runs.run(id="waits", name="wide", **waits, place=2, gpus_ahead=8)
    failed = runs.ended(RunPhase.FAILED, id="failed", name="old", job_uid="uid-1")
    done = runs.ended(RunPhase.SUCCEEDED, id="done", name="base", job_uid="uid-2")
    theirs = runs.running(id="mia", name="eval", person="U0MIA")
    wandb = {"W&B": "https://wandb.ai/acme/runs/2k7"}
    lane = runs.running(id="lane", progress=runs.EPOCHS, links=wandb)
    return [lane, idle, session, waiting, failed, done, theirs]


def _requests() -> list[SQLModel]:
    """A request that Carol can decide, and one that Erin can, too."""
    override = quotas.override(id="override")
    change = volumes.change(id="change", phase="asked")
    revert = snapshots.revert(id="revert")
    asked = {"override": "quota_override", "volume_change": "anf_change", "revert":
             "snapshot_restore"}  # fmt: skip
    ids = {"override": "override", "volume_change": "change", "revert": "revert"}
    approvals = [
        quotas.approval(kind, policy, ApprovalPhase.ASKED, id=kind, subject_id=ids[kind])
        for kind, policy in asked.items()
    ]
    return [override, change, revert, *approvals]


def _caches() -> list[SQLModel]:
    unused = "It has been unused for 13d; it is kept 14d after its last use."
    leaving = datasets.filled(leaves_at=NOW + DAY, noticed_at=NOW - MINUTE, evict_why=unused)
    return [datasets.dataset(), datasets.recorded(id=datasets.OTHER), leaving]


def states() -> Iterator[State]:
    """All of them."""
    yield home("home-new-person", ALICE)
    yield home("home-with-runs", ALICE, *_runs())
    many = (runs.running(id=f"run-{n:02}", name=f"lane-{n:02}") for n in range(48))
    yield home("home-with-many-runs", ALICE, *many)
    yield home("home-with-caches-to-be-evicted", ALICE, *_caches())
    yield home("home-lead", ERIN, *_runs(), *_requests())
    yield home("home-lead-of-another-team", BOB, *_runs())
    yield home("home-approver-and-admin", CAROL, *_runs(), *_requests())
    yield home("home-without-team", FAY)
    yield home("home-guest", DAN)
    yield home("home-not-yet-known", "U0NEW")
