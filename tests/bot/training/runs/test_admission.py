"""What teams may run at all, by their policies."""

from decimal import Decimal
from typing import Any, get_args

import pytest

from bot.config.sections.teams import KindName, OpenKind
from bot.errors import NotAllowedError, UsageError
from bot.training.kinds import KINDS, NAMES
from bot.training.spec import Entrance, RunSpec, to_row
from tests.bot.ground import INSTALLATION
from tests.bot.training.objects import run
from tests.bot.training.rig import IMAGE, Rig, settings

SYNC: dict[str, Any] = {"kind": "sync", "command": ("python", "train.py")}


def allow(rig: Rig, **admission: object) -> None:
    """Gives team-a this policy."""
    rig.policy = settings(admission=admission)


def refusal(rig: Rig, **asked: Any) -> tuple[str, str]:
    """Why a run is refused, and what to do."""
    with pytest.raises(NotAllowedError) as refused:
        rig.submit(**asked)
    return refused.value.message, refused.value.hint


def test_images_of_the_list_alone_may_run(rig: Rig) -> None:
    allow(rig, images=["ghcr.io/acme/*", "nvcr.io/nvidia/pytorch:*"])
    rig.submit(image=IMAGE)
    for image in ("docker.io/acme/lane:1", "ghcr.io/acme-evil/lane:1", "nvcr.io/nvidia/tao:1"):
        assert refusal(rig, name="other", image=image) == (
            f"team-a may not run the image {image}.",
            "It may run: `ghcr.io/acme/*`, `nvcr.io/nvidia/pytorch:*`.",
        )


def test_kinds_of_the_list_alone_may_run(rig: Rig) -> None:
    allow(rig, kinds=["job", "interactive"])
    rig.submit()
    assert refusal(rig, name="other", **SYNC) == (
        "team-a may not use `--kind sync`.",
        "It may use: `--kind job`, `--kind interactive`.",
    )


def test_the_network_of_nodes_is_closed(rig: Rig) -> None:
    assert refusal(rig, host_network=True, **SYNC) == (
        "team-a may not use the host network with `--kind sync`.",
        (
            "Leave `--host-network` out. A platform admin can allow it: `admission.host_network`"
            " for the team in quartermaster.yaml."
        ),
    )


def test_privileges_are_allowed_by_kind(rig: Rig) -> None:
    allow(rig, privileged=["nccl"])
    assert refusal(rig, privileged=True, **SYNC) == (
        "team-a may not run privileged containers with `--kind sync`.",
        (
            "Leave `--privileged` out. Allowed with: `--kind nccl`. A platform admin can allow it:"
            " `admission.privileged` for the team in quartermaster.yaml."
        ),
    )


def test_what_is_allowed_reaches_the_pods(rig: Rig) -> None:
    allow(rig, host_network=["sync"], privileged=["sync"])
    run_id = rig.submit(host_network=True, privileged=True, **SYNC)
    rig.pass_time(seconds=30)
    pod = rig.job(run_id)["spec"]["template"]["spec"]
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert pod["containers"][0]["securityContext"] == {"privileged": True}
    assert rig.get(run_id).phase == "running"


def test_other_kinds_have_no_such_options(rig: Rig) -> None:
    with pytest.raises(UsageError) as refused:
        rig.submit(host_network=True)
    assert (refused.value.message, refused.value.hint) == (
        "`--host-network` does not apply to `--kind job`.",
        "Leave it out, or use a kind that supports it: `--kind nccl`, `--kind sync`.",
    )


def test_a_run_is_not_started_again_against_policy(rig: Rig) -> None:
    first = rig.submit()
    rig.stop(first)
    rig.run()
    allow(rig, images=["nvcr.io/*"])
    with pytest.raises(NotAllowedError):
        rig.resubmit("lane")


def test_the_configuration_knows_every_kind() -> None:
    assert set(get_args(KindName)) == set(NAMES)
    opened = {name for (name, _), kind in KINDS.items() if "host_network" in kind.options}
    assert set(get_args(OpenKind)) == opened


@pytest.mark.parametrize("which", KINDS)
def test_no_run_mounts_a_path_of_its_node(which: tuple[str, str]) -> None:
    spec = RunSpec(
        kind=which[0],
        form=which[1],
        nodes=2,
        image=IMAGE,
        command=("python", "train.py"),
        gpus=Decimal(1),
        cpu="8",
        memory="64Gi",
        shm="8Gi",
        port=8888,
        session_seconds=3600,
        longest_seconds=7200,
        entrance=Entrance(host="ml.example.com"),
        host_network=True,
        privileged=True,
    )
    row = run(spec=to_row(spec))
    made = [KINDS[which].manifest(row, INSTALLATION)]
    made += [each.body() for each in KINDS[which].dependents(row)]
    assert "hostPath" not in str(made)
