"""Which runs wrote what lies in a folder of a PVC, on both databases."""

from datetime import datetime
from typing import Any

import pytest
from sqlmodel import Session

from bot.database.database import Database
from bot.datasets.pushes.versions import Written
from bot.training.kinds.pods.volumes import claim_name
from bot.training.records.makers import makers_of
from tests.bot.training.objects import later, run

NOON = later(hours=12)


def add(session: Session, number: int, started_at: datetime | None = NOON, **spec: Any) -> None:
    told = {"image": "busybox:1", "cpu": "1", "memory": "1Gi", "shm": "1Gi", **spec}
    root = f"prep-{number:010}"
    row_id = f"01990000-0000-7000-8000-{number:012}"
    session.add(
        run(id=row_id, name="prep", number=number, job_name=root, spec=told, started_at=started_at,
            ended_at=started_at)
    )  # fmt: skip


def mount(claim: str, *, read_only: bool = False) -> tuple[str, str, bool]:
    return (claim, "/out", read_only)


def made(database: Database, rows: list[dict[str, Any]], claim: str = "results") -> list[str]:
    """Who wrote the folder /run-7, when these are the runs."""

    def work(session: Session) -> list[str]:
        for number, each in enumerate(rows, 1):
            add(session, number, **each)
        session.flush()
        place = Written("default", "team-a", claim, "/run-7", later(hours=13))
        return [each.name for each in makers_of(session, place)]

    return database.transaction(work)


def test_those_who_mount_it_for_writing_made_it(database: Database) -> None:
    rows: list[dict[str, Any]] = [
        {"mounts": [mount("results")]},
        {"mounts": [mount("results", read_only=True)]},
        {"mounts": [mount("results-2")]},
        {"mounts": [mount("results")], "started_at": None},
        {"mounts": [mount("results")], "started_at": later(hours=14)},
        {"mounts": [mount("results")], "artifacts": ["/out/run-8/model.pt"]},
    ]
    assert made(database, rows) == ["run prep#6 of team-a", "run prep of team-a"]


@pytest.mark.parametrize("kept", ["/out/run-7/model.pt", "/out/run-7", "/out"])
def test_those_who_keep_artifacts_there_come_first(database: Database, kept: str) -> None:
    rows: list[dict[str, Any]] = [
        {"mounts": [mount("results")], "artifacts": [kept]},
        {"mounts": [mount("results")], "artifacts": ["/out/run-70"]},
        {"mounts": [mount("results")]},
    ]
    assert made(database, rows) == ["run prep of team-a"]


def test_volume_made_for_run_is_its_own(database: Database) -> None:
    volume = {"storage_class": "fast", "size": "1Gi", "path": "/out"}
    rows: list[dict[str, Any]] = [{"volumes": [volume]}, {"volumes": [volume]}]
    claim = claim_name(f"prep-{2:010}", 0)
    assert made(database, rows, claim) == ["run prep#2 of team-a"]
