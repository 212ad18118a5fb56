"""Elastic runs under Kubeflow's operators, in a cluster over HTTP."""

from copy import deepcopy
from dataclasses import replace

import pytest

from bot.errors import ConflictError, UsageError
from bot.slack.grammar.parameters import Nodes
from bot.training.scaling import RestartOffer
from bot.training.tables import RunPhase
from playground.cluster.objects.schemas import find
from playground.ledger import Fault
from tests.bot.ground import ALICE
from tests.bot.training.rig import Rig, settings
from tests.bot.training.runs.test_scaling import requeue, scale, size

COMMAND = ("python", "train.py", "--epochs", "30")


def submit(rig: Rig, form: str, fewest: int, most: int) -> str:
    nodes = Nodes(fewest, most)
    return rig.submit("wide", kind="elastic", form=form, nodes=nodes, gpus=1, command=COMMAND)


def manage_pytorch_jobs(rig: Rig) -> None:
    """What an administrator does for Kueue to manage PyTorchJobs."""
    inside = rig.world.inside
    names = inside.kueue.frameworks | {"pytorchjobs.kubeflow.org"}
    inside.kueue = replace(inside.kueue, frameworks=names)


def test_a_missing_operator_is_told_before(rig: Rig) -> None:
    with pytest.raises(ConflictError) as refused:
        submit(rig, "pytorchjob", 1, 3)
    assert refused.value.message == "Cluster default does not serve pytorchjobs."
    assert refused.value.hint == (
        "A platform admin has to install the training operator, which serves kubeflow.org/v1."
        " Without `--form` the run needs no operator."
    )


def test_a_kueue_without_pytorch_jobs_is_told(rig: Rig) -> None:
    rig.world.install("training-operator")
    rig.look()
    run_id = submit(rig, "pytorchjob", 1, 3)
    rig.run()
    why = (
        "Kueue does not manage PyTorchJobs here, so none was created. A platform admin has to"
        " enable the integration kubeflow.org/pytorchjob in Kueue's configuration. Without"
        " `--form`, the run is a Job, which Kueue manages."
    )
    assert (rig.get(run_id).phase, rig.get(run_id).reason) == (RunPhase.UNMANAGED, why)
    assert rig.world.list("pytorchjobs", "team-a") == []


@pytest.mark.parametrize("request_number", [1, 2])
@pytest.mark.parametrize("fault", [Fault.LOSE_ANSWER, Fault.REFUSE])
def test_a_pytorch_job_runs_to_its_end(rig: Rig, fault: Fault, request_number: int) -> None:
    rig.world.install("training-operator")
    manage_pytorch_jobs(rig)
    rig.look()
    # The first one is the trial by which Kueue is asked whether it manages them.
    rig.outside.ledger.by_number[request_number] = fault
    run_id = submit(rig, "pytorchjob", 1, 3)
    rig.pass_time(minutes=2)
    assert size(rig, run_id) == "3 of 3 nodes running; 1 to 3 allowed"
    assert len(rig.world.list("pytorchjobs", "team-a")) == 1
    rig.pass_time(hours=2)
    assert rig.get(run_id).phase == RunPhase.SUCCEEDED


def test_a_pytorch_job_starts_anew_to_scale(rig: Rig) -> None:
    rig.world.install("training-operator")
    manage_pytorch_jobs(rig)
    rig.look()
    run_id = submit(rig, "pytorchjob", 1, 3)
    rig.pass_time(minutes=1)
    why = "Kueue cannot change the number of nodes of a PyTorchJob while it runs."
    assert scale(rig, run_id, 2) == RestartOffer(rig.get(run_id), 2, why)
    requeue(rig, run_id, 2)
    rig.pass_time(minutes=2)
    assert rig.notes(run_id)["again"] == "Started again as wide#2."
    (job,) = rig.world.list("pytorchjobs", "team-a")
    assert job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2


def test_a_train_job_keeps_its_nodes(rig: Rig) -> None:
    rig.world.install("trainer")
    rig.look()
    with pytest.raises(UsageError):
        submit(rig, "trainjob", 1, 2)
    run_id = submit(rig, "trainjob", 2, 2)
    rig.pass_time(minutes=1)
    assert (rig.get(run_id).phase, len(rig.get(run_id).nodes)) == (RunPhase.RUNNING, 1)
    why = "A TrainJob keeps the nodes it starts with."
    assert scale(rig, run_id, 3) == RestartOffer(rig.get(run_id), 3, why)
    requeue(rig, run_id, 3)
    rig.pass_time(minutes=2)
    (job,) = rig.world.list("trainjobs", "team-a")
    assert job["spec"]["trainer"]["numNodes"] == 3
    rig.pass_time(hours=2)
    assert rig.notes(run_id)["ended"].startswith(f"<@{ALICE}> wide was stopped by Alice")


def test_an_older_trainer_gets_what_it_knows(rig: Rig) -> None:
    rig.policy = settings(admission={"security": "baseline"})
    install_older_trainer(rig)
    submit(rig, "trainjob", 2, 2)
    rig.run()
    (job,) = rig.world.list("trainjobs", "team-a")
    assert "podTemplateOverrides" in job["spec"]


def test_an_older_trainer_runs_nobody_as_root(rig: Rig) -> None:
    install_older_trainer(rig)
    run_id = submit(rig, "trainjob", 2, 2)
    rig.run()
    ended = rig.get(run_id)
    assert (ended.phase, ended.reason) == (
        "failed",
        "Kubeflow Trainer 2.1 cannot set the user that the pods of a TrainJob run as.",
    )
    assert "`admission.security: baseline`" in ended.unblock
    assert rig.world.list("trainjobs", "team-a") == []


def install_older_trainer(rig: Rig) -> None:
    """Installs Kubeflow Trainer with the fields of 2.1."""
    rig.world.install("trainer")
    rig.look()
    kind = rig.world.kind("trainjobs")
    schema = deepcopy(find(kind, "v1alpha1"))
    assert schema is not None
    fields = schema["properties"]["spec"]["properties"]
    del fields["runtimePatches"]
    fields["podTemplateOverrides"] = {"type": "array", "items": {"type": "object"}}
    older = replace(kind, crd={"schema": {"openAPIV3Schema": schema}})
    rig.world.inside.kinds.add(older)
