"""The objects beside a root: made with an owner, removed one by one, never those of others."""

from datetime import datetime

from bot.cluster.resources import JOBS, SECRETS, SERVICES
from bot.cluster.types.objects import ClusterObject, ObjectMeta
from bot.reconcile.decisions import Wait
from bot.training.kinds.job import JOB
from bot.training.kinds.kind import Dependent
from bot.training.runs.act import act
from bot.training.runs.decide import (
    Await,
    Clear,
    CreateDependent,
    Delete,
    DependentObserved,
    End,
    Prepare,
    RunObserved,
    UpdateStatus,
    decide,
)
from bot.training.state import State
from bot.training.tables import RunPhase
from tests.bot.ground import INSTALLATION, START
from tests.bot.training.objects import RUN_ID, UID, admission, later, root, run
from tests.bot.training.rig import Rig

SECRET = Dependent(SECRETS, "lane-ssh", lambda: {"stringData": {"key": "value"}})
SERVICE = Dependent(SERVICES, "lane", lambda: {"spec": {"clusterIP": "None"}})
MADE = {"job_uid": UID, "made_at": START, "phase": RunPhase.PENDING}
OVER = {"job_uid": UID, "ended_at": later(minutes=1), "phase": RunPhase.STOPPED}
TAKEN = (
    "Namespace team-a already has a Service lane that Quartermaster did not create. It was not"
    " changed."
)


def there(uid: str = "uid-2", leaving: datetime | None = None) -> ClusterObject:
    return ClusterObject(metadata=ObjectMeta(uid=uid, deletion_timestamp=leaving))


def seen(*dependents: DependentObserved) -> RunObserved:
    return RunObserved(root(suspend=True), admission(), dependents=dependents)


def test_missing_companions_are_made_in_order() -> None:
    both = seen(DependentObserved(SECRET), DependentObserved(SERVICE))
    assert decide(run(**MADE), both, START) == CreateDependent(SECRET, State(RunPhase.PENDING))
    one = seen(DependentObserved(SECRET, there()), DependentObserved(SERVICE))
    assert decide(run(**MADE), one, START) == CreateDependent(SERVICE, State(RunPhase.PENDING))


def test_a_run_with_everything_is_followed() -> None:
    whole = seen(DependentObserved(SECRET, there()))
    assert decide(run(**MADE), whole, START) == UpdateStatus(State(RunPhase.PENDING))


def test_a_companion_of_others_ends_the_run() -> None:
    other = seen(DependentObserved(SERVICE, there(), is_ours=False))
    assert decide(run(**MADE), other, START) == Prepare(RunPhase.FAILED, TAKEN)
    before = RunObserved(None, dependents=other.dependents)
    assert decide(run(), before, START) == End(State(RunPhase.FAILED, reason=TAKEN))


def test_what_is_left_goes_one_by_one() -> None:
    left = (
        DependentObserved(SECRET, there("uid-2", START)),
        DependentObserved(SERVICE, there("uid-3")),
    )
    assert decide(run(**OVER), RunObserved(None, dependents=left), START) == Clear(SERVICE, "uid-3")
    assert decide(run(**OVER), RunObserved(None, dependents=left[:1]), START) == Await()
    gone = (DependentObserved(SECRET), DependentObserved(SERVICE, there(), is_ours=False))
    assert decide(run(**OVER), RunObserved(None, dependents=gone), START) == Wait()


def test_a_late_root_goes_before_its_companions() -> None:
    late = RunObserved(root(), dependents=(DependentObserved(SECRET, there()),))
    assert decide(run(ended_at=START, phase=RunPhase.STOPPED), late, START) == Delete()


def test_a_companion_belongs_to_its_root(rig: Rig) -> None:
    run_id = rig.submit()
    rig.run()
    row = rig.get(run_id)
    job = rig.cluster.get(JOBS, row.job_name, "team-a")
    assert job is not None
    furnish = CreateDependent(SECRET)
    now = RunObserved(JOB.read(job))
    assert act(rig.cluster, rig.engine, row, now, furnish) == (furnish, now)
    made = rig.world.get("secrets", "lane-ssh", "team-a")
    assert made is not None
    assert made["data"] == {"key": "dmFsdWU="}
    assert made["metadata"]["ownerReferences"] == [
        {"apiVersion": "batch/v1", "kind": "Job", "name": job.name, "uid": job.uid}
    ]
    assert made["metadata"]["labels"]["quartermaster.dev/run"] == run_id
    assert made["metadata"]["labels"]["quartermaster.dev/installation"] == INSTALLATION
    assert act(rig.cluster, rig.engine, row, now, furnish) == (Await(), now)
    act(rig.cluster, rig.engine, row, now, Clear(SECRET, "another"))
    assert rig.world.get("secrets", "lane-ssh", "team-a") is not None
    act(rig.cluster, rig.engine, row, now, Clear(SECRET, made["metadata"]["uid"]))
    assert rig.world.get("secrets", "lane-ssh", "team-a") is None


def test_a_companion_that_is_refused_ends_the_run(rig: Rig) -> None:
    row = run(id=RUN_ID, **MADE)
    wrong = Dependent(SERVICES, "Not_A_Name", lambda: {"spec": {"clusterIP": "None"}})
    decision, _ = act(rig.cluster, rig.engine, row, RunObserved(root()), CreateDependent(wrong))
    assert isinstance(decision, Prepare)
    assert decision.outcome == RunPhase.FAILED
    assert decision.reason.startswith("Creating Service Not_A_Name in namespace team-a on cluster")
    decision, _ = act(rig.cluster, rig.engine, row, RunObserved(None), CreateDependent(wrong))
    assert isinstance(decision, End)
