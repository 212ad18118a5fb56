"""Where versions come from that were pushed: the runs that wrote them, and what these read."""

from datetime import datetime, timedelta

from bot.database.database import Session
from bot.datasets import finding
from bot.datasets.caches.tables import VersionUse
from tests.bot.datasets.caches.rows import add_dataset, add_version
from tests.bot.datasets.pushes.pushing import TARGET, Pushing
from tests.bot.datasets.rig import DONE, OTHER_DIGEST
from tests.bot.training.objects import run


def ran(session: Session, number: int, started_at: datetime) -> str:
    """A run that read raw@v3 and wrote to the PVC; the id of that version."""
    raw = finding.present(session, "raw") or add_dataset(session, "raw")
    version = next(iter(finding.versions(session, raw.id)), None) or add_version(session, raw)
    row_id, spec = f"01990000-0000-7000-8000-{number:012}", {"mounts": [["results", "/out", False]]}
    told = {"image": "busybox:1", "cpu": "1", "memory": "1Gi", "shm": "1Gi", **spec}
    root = f"prep-{number:010}"
    session.add(run(id=row_id, name="prep", number=number, job_name=root, spec=told,
                    started_at=started_at, ended_at=started_at))  # fmt: skip
    session.add(
        VersionUse(version_id=version.id, subject_kind="run", subject_id=row_id, who="run prep",
            at=started_at)
    )  # fmt: skip
    return version.id


def test_a_version_names_its_run_and_data(rig: Pushing) -> None:
    raw = rig.do(lambda session: ran(session, 1, rig.clock.now()))
    rig.snapshot()
    rig.do(lambda session: ran(session, 2, rig.clock.now() + timedelta(minutes=1)))
    rig.outside.clock.moment += timedelta(minutes=10)
    push_id = rig.push(snapshot="monday", dataset="clean", version="v1")
    rig.pass_time(minutes=2)
    version = rig.get(rig.found(push_id).version_id or "")
    assert (version.parents, version.made_by) == ([raw], ["run prep of team-a"])
    card = [each.split() for each in rig.card(version.id).splitlines()]
    assert [each for each in card if each[:1] in (["Derived"], ["Produced"])] == [
        ["Derived", "from", "`raw@v3`"], ["Produced", "by", "run", "prep", "of", "team-a"],
    ]  # fmt: skip


def test_the_version_before_stays_a_parent(rig: Pushing) -> None:
    raw = rig.do(lambda session: ran(session, 1, rig.clock.now()))
    rig.outside.clock.moment += timedelta(minutes=1)
    before = rig.do(lambda s: add_version(s, add_dataset(s, source=TARGET)).id)
    push_id = rig.push()
    rig.pass_time(minutes=2)
    version = rig.get(rig.found(push_id).version_id or "")
    assert (version.parents, version.made_by) == ([raw, before], ["run prep of team-a"])
    rig.says(DONE | {"digest": OTHER_DIGEST}, seconds=20)
    rig.pass_time(minutes=3)
    assert rig.notes(version.id)["ended"].splitlines()[-1] == (
        "To see what changed: `/dataset diff chest-xray@v3 chest-xray@v2`"
    )
