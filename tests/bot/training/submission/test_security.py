"""Pods of runs are nobody's root unless the admission of their team says so."""

from base64 import b64decode
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace
from pydantic import ValidationError

from bot.config import Admission
from bot.errors import UsageError
from bot.slack.grammar.container_parameters import EnvironmentVariable, VolumeMount
from bot.training.kinds import KINDS, dependents_of, kind_of_run
from bot.training.spec import RunSpec, Security, to_row
from bot.training.submission.new_run import AskedRun
from bot.training.submission.renewing import differences
from bot.training.tables import RunPhase
from playground.cluster.control.training import Training
from tests.bot.ground import ALICE
from tests.bot.training.cards import card
from tests.bot.training.objects import run
from tests.bot.training.rig import IMAGE, Rig, settings
from tests.bot.training.runs.test_elastic_forms import manage_pytorch_jobs

OF_POD = {
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
    "runAsUser": 1000,
    "runAsGroup": 1000,
    "fsGroup": 1000,
    "fsGroupChangePolicy": "OnRootMismatch",
}
OF_CONTAINER = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
RESTRICTED = Security(restricted=True, user=1000, group=1000, fs_group=1000)
SPEC = RunSpec(image=IMAGE, command=("python", "train.py"), gpus=Decimal(1), cpu="8", memory="64Gi")
HOME = {"name": "HOME", "value": "/home/runner"}
# Those of one cluster: the form `deployment` takes the network of nodes, which no level allows.
SORTS: tuple[dict[str, Any], ...] = (
    {"kind": "job"},
    {"kind": "interactive", "image": "quay.io/jupyter/pytorch-notebook:2026"},
    {"kind": "mpi", "nodes": 2},
    {"kind": "sync", "nodes": 2},
    {"kind": "elastic", "nodes": 2},
    {"kind": "elastic", "form": "pytorchjob", "nodes": 2},
    {"kind": "elastic", "form": "trainjob", "nodes": 2},
    {"kind": "nccl", "nodes": 2},
)


def restrict(rig: Rig) -> None:
    """Has the API server refuse pods in the team's namespace that are not restricted."""
    named = {"pod-security.kubernetes.io/enforce": "restricted"}
    rig.world.patch("namespaces", "team-a", {"metadata": {"labels": named}})


def pod_spec(rig: Rig, run_id: str) -> dict[str, Any]:
    """What the pods of a new Job are to be."""
    rig.pass_time(seconds=10)
    found: dict[str, Any] = rig.job(run_id)["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize("sort", SORTS, ids=lambda sort: " ".join(map(str, sort.values())))
def test_every_kind_runs_where_restricted(rig: Rig, sort: dict[str, Any]) -> None:
    rig.world.install("trainer")
    rig.world.install("training-operator")
    rig.world.install("mpi-operator")
    manage_pytorch_jobs(rig)
    rig.look()
    restrict(rig)
    rig.world.behaviours["lane"] = Training(never_ends=True)
    run_id = rig.submit(gpus=1, **sort)
    rig.pass_time(minutes=2)
    assert rig.get(run_id).phase == RunPhase.RUNNING
    pods = [each for each in rig.world.list("pods", "team-a") if each["spec"].get("nodeName")]
    assert len(pods) >= sort.get("nodes", 1)
    for pod in pods:
        assert pod["spec"]["securityContext"] == OF_POD
        assert [each["securityContext"] for each in pod["spec"]["containers"]] == [OF_CONTAINER]


def test_a_user_without_name_has_a_home(rig: Rig) -> None:
    pod = pod_spec(rig, rig.submit())
    (container,) = pod["containers"]
    assert container["env"][:2] == [HOME, {"name": "USER", "value": "runner"}]
    assert {"name": "home", "mountPath": "/home/runner"} in container["volumeMounts"]
    assert {"name": "home", "emptyDir": {}} in pod["volumes"]


def test_a_pvc_may_be_the_home(rig: Rig) -> None:
    home = VolumeMount("team-a-data", "/home/runner/", read_only=False)
    pod = pod_spec(rig, rig.submit(pvc=(home,)))
    assert "home" not in {each["name"] for each in pod["volumes"]}


def test_ssh_has_its_home_wherever_programs_look(rig: Rig) -> None:
    elsewhere = (EnvironmentVariable("HOME", "/out"),)
    pod = pod_spec(rig, rig.submit(kind="sync", nodes=2, env=elsewhere))
    (container,) = pod["containers"]
    told = [each["value"] for each in container["env"] if each["name"] == "HOME"]
    assert told == ["/out"]
    # ssh and sshd look at the home of /etc/passwd alone, which has to be writable.
    assert {"name": "home", "mountPath": "/home/runner"} in container["volumeMounts"]
    assert {"name": "home", "emptyDir": {}} in pod["volumes"]


def test_baseline_leaves_pods_to_their_image(rig: Rig) -> None:
    rig.policy = settings(admission={"security": "baseline"})
    pod = pod_spec(rig, rig.submit())
    assert not pod.get("securityContext")
    assert "securityContext" not in pod["containers"][0]
    assert HOME not in pod["containers"][0]["env"]


def test_the_admission_names_other_users(rig: Rig) -> None:
    named = {"run_as_user": 2001, "run_as_group": 0, "fs_group": 5000}
    rig.policy = settings(admission=named)
    wanted = {"runAsUser": 2001, "runAsGroup": 0, "fsGroup": 5000}
    assert pod_spec(rig, rig.submit())["securityContext"] == OF_POD | wanted


@pytest.mark.parametrize(
    ("admission", "said"),
    [
        ({"run_as_user": 0}, "run_as_user"),
        ({"security": "privileged"}, "'restricted' or 'baseline'"),
        ({"security": "baseline", "fs_group": 5000}, "need a user other than root: set one, for"),
        ({"security": "baseline", "run_as_user": "image", "run_as_group": 1}, "need a user"),
    ],
)
def test_users_that_cannot_be_are_refused(admission: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Admission.model_validate(admission)
    assert said in str(refused.value)


def test_privileged_containers_stay_as_they_were(rig: Rig) -> None:
    rig.policy = settings(admission={"privileged": ["sync"]})
    pod = pod_spec(rig, rig.submit(kind="sync", privileged=True))
    assert not pod.get("securityContext")
    assert pod["containers"][0]["securityContext"] == {"privileged": True}


def test_images_of_root_end_the_run(rig: Rig) -> None:
    rig.policy = settings(admission={"run_as_user": "image"})
    run_id = rig.submit()
    rig.pass_time(minutes=3)
    ended = rig.get(run_id)
    assert ended.phase == RunPhase.FAILED
    assert ended.reason.startswith(
        "Its pods must not run as root, but its image does: container has runAsNonRoot and image"
        f' will run as root (pod: "{ended.job_name}-'
    )
    assert (
        "Use an image whose USER is a number above 0. Or ask a platform admin to set"
        " `admission.run_as_user: 1000` for the team in quartermaster.yaml, or"
        " `admission.security: baseline`, which allows root."
    ) in card(rig, run_id)
    assert rig.world.list("pods", "team-a") == []


def test_users_of_images_run_themselves(rig: Rig) -> None:
    rig.policy = settings(admission={"run_as_user": "image"})
    rig.world.set_image_user("acme/lane", "65532:65532")
    rig.world.behaviours["lane"] = Training(never_ends=True)
    run_id = rig.submit()
    rig.pass_time(minutes=1)
    assert rig.get(run_id).phase == RunPhase.RUNNING
    assert pod_spec(rig, run_id)["securityContext"] == {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_named_users_of_images_are_refused(rig: Rig) -> None:
    rig.policy = settings(admission={"run_as_user": "image"})
    rig.world.set_image_user("acme/lane", "mpiuser")
    run_id = rig.submit()
    rig.pass_time(minutes=3)
    assert "image has non-numeric user (mpiuser), cannot verify" in rig.get(run_id).reason


def test_starting_again_follows_the_admission(rig: Rig) -> None:
    rig.policy = settings(admission={"security": "baseline"})
    rig.world.behaviours["lane"] = Training(exit_code=1)
    first = rig.submit()
    rig.pass_time(minutes=30)
    assert rig.get(first).phase == RunPhase.FAILED
    rig.policy = settings()
    again = rig.resubmit("lane")
    assert pod_spec(rig, again)["securityContext"] == OF_POD


def test_what_waited_for_a_cache_follows_today(rig: Rig) -> None:
    # As it was offered before the bot was upgraded, or the admission changed.
    asked = AskedRun("lane", "default", SPEC)
    by = rig.caller(ALICE)
    begun = rig.do(lambda session: rig.service.begin(session, by, asked, rig.clock.now()))
    assert pod_spec(rig, begun.run_id)["securityContext"] == OF_POD


def test_other_users_of_today_are_told() -> None:
    before, now = replace(SPEC, security=Security(user=2001, group=0)), replace(SPEC)
    start = "Under the team's current settings, its containers run "
    assert differences(now, replace(SPEC, security=RESTRICTED)) == (
        (
            f"{start}restricted, as user 1000, group 1000, volumes' group 1000; before, as"
            " the user of its image."
        ),
    )
    assert differences(before, now) == (
        f"{start}as the user of its image; before, as user 2001, group 0.",
    )
    assert differences(before, before) == ()


@pytest.mark.parametrize("kind", ["mpi", "sync", "nccl"])
def test_ssh_knows_the_user_of_pods(kind: str) -> None:
    row = run(spec=to_row(replace(SPEC, kind=kind, nodes=2, security=RESTRICTED)))
    (keys,) = [each for each in dependents_of(row) if each.resource.kind == "Secret"]
    users = b64decode(keys.body()["data"]["passwd"]).decode()
    assert users == ("root:x:0:0:root:/root:/bin/sh\nrunner:x:1000:1000::/home/runner:/bin/sh\n")
    for pod in pods_of(row):
        (container,) = pod["containers"]
        assert {
            "name": "ssh", "mountPath": "/etc/passwd", "subPath": "passwd", "readOnly": True,
        } in container["volumeMounts"]  # fmt: skip
        secret = {"secretName": keys.name, "defaultMode": 0o444}
        assert {"name": "ssh", "secret": secret} in pod["volumes"]


def test_mpi_keys_are_not_the_operators() -> None:
    # The operator refuses an MPIJob whose Secret of that name is somebody else's.
    row = run(spec=to_row(replace(SPEC, kind="mpi", security=RESTRICTED)))
    assert [each.name for each in dependents_of(row)] == ["lane-124a67dc90-ssh-keys"]
    row = run(spec=to_row(replace(SPEC, kind="mpi")))
    assert [each.name for each in dependents_of(row)] == ["lane-124a67dc90-ssh-keys"]


def test_mpi_needs_a_command_without_root(rig: Rig) -> None:
    rig.world.install("mpi-operator")
    rig.look()
    with pytest.raises(UsageError, match="needs the command that the launcher runs"):
        rig.submit(kind="mpi", command=())


@pytest.mark.parametrize(("kind", "form"), sorted(KINDS))
def test_runs_from_before_keep_their_pods(kind: str, form: str) -> None:
    spec = to_row(replace(SPEC, kind=kind, form=form, nodes=2))
    before = {name: value for name, value in spec.items() if name != "security"}
    for pod in pods_of(run(spec=before)):
        assert "securityContext" not in pod
        assert "securityContext" not in pod["containers"][0]


def pods_of(row: Any) -> list[dict[str, Any]]:
    """The specs of pods in its manifest and its dependents."""
    found: list[dict[str, Any]] = []

    def look(part: Any) -> None:
        if isinstance(part, dict) and "containers" in part:
            found.append(part)
        for each in part.values() if isinstance(part, dict) else part:
            if isinstance(each, dict | list):
                look(each)

    bodies = [each.body() for each in dependents_of(row) if each.resource.kind == "Deployment"]
    look([kind_of_run(row).manifest(row, "installation"), *bodies])
    return found
