from decimal import Decimal

import pytest
from sqlmodel import select

from bot.config import Fractions, GpuUnits, Hami, Settings
from bot.errors import ConflictError, UsageError
from bot.training.spec import spec_of
from bot.training.submission.fractions import gpu_requests, refuse_unavailable
from bot.training.tables import Run
from playground.story.shared_gpus import share_gpus
from tests.bot.training.rig import Rig

GPU, TENTHS = "nvidia.com/gpu", "example.com/gpu-tenths"
MIG, SHARED = "nvidia.com/mig-1g.10gb", "nvidia.com/gpu.shared"
WHOLE = Fractions()
COUNTED = Fractions(units=GpuUnits(resource=TENTHS))
SIZED = Fractions(sizes={"0.25": SHARED, "0.14": MIG})
HAMI = Fractions(hami=Hami(memory_mib=81_920))


@pytest.mark.parametrize(
    ("gpus", "fractions", "requests"),
    [
        ("0", WHOLE, {}),
        ("0", COUNTED, {}),
        ("2", WHOLE, {GPU: "2"}),
        ("2", SIZED, {GPU: "2"}),
        ("2", HAMI, {GPU: "2"}),
        ("2", COUNTED, {TENTHS: "20"}),
        ("0.6", COUNTED, {TENTHS: "6"}),
        ("1.5", COUNTED, {TENTHS: "15"}),
        ("0.50", Fractions(units=GpuUnits(resource=TENTHS, per_gpu=4)), {TENTHS: "2"}),
        ("0.14", SIZED, {MIG: "1"}),
        ("0.25", SIZED, {SHARED: "1"}),
        ("0.5", HAMI, {GPU: "1", "nvidia.com/gpumem": "40960", "nvidia.com/gpucores": "50"}),
        ("0.33", HAMI, {GPU: "1", "nvidia.com/gpumem": "27033", "nvidia.com/gpucores": "33"}),
    ],
)
def test_gpus_become_what_the_cluster_offers(
    gpus: str, fractions: Fractions, requests: dict[str, str]
) -> None:
    assert gpu_requests(Decimal(gpus), GPU, fractions) == requests


@pytest.mark.parametrize(
    ("gpus", "fractions", "message", "hint"),
    [
        (
            "0.5",
            WHOLE,
            "This cluster allocates whole GPUs only, not 0.5.",
            (
                "Use `--gpus 1`. A platform admin can allow fractions with `fractions` of the"
                " cluster in quartermaster.yaml: MIG, shared GPUs, HAMi, or a resource that counts"
                " tenths."
            ),
        ),
        (
            "0.5",
            SIZED,
            "This cluster does not offer 0.5 of a GPU.",
            "Fractions are: `--gpus 0.14`, `--gpus 0.25`. Or use a whole GPU: `--gpus 1`.",
        ),
        (
            "1.5",
            SIZED,
            "A run can have whole GPUs or a fraction of one, not 1.5.",
            "Use `--gpus 1` or `--gpus 2`.",
        ),
        (
            "0.25",
            COUNTED,
            "GPU amounts are multiples of 0.1 here; 0.25 is not one.",
            "Use `--gpus 0.2` or `--gpus 0.3`.",
        ),
        (
            "0.05",
            COUNTED,
            "GPU amounts are multiples of 0.1 here; 0.05 is not one.",
            "Use `--gpus 0.1`.",
        ),
    ],
)
def test_other_parts_are_refused_with_what_there_is(
    gpus: str, fractions: Fractions, message: str, hint: str
) -> None:
    with pytest.raises(UsageError) as refused:
        gpu_requests(Decimal(gpus), GPU, fractions)
    assert (refused.value.message, refused.value.hint) == (message, hint)


def test_queues_count_units_or_whole_gpus() -> None:
    assert [each.counted(GPU) for each in (WHOLE, SIZED, HAMI, COUNTED)] == [
        GPU,
        GPU,
        GPU,
        TENTHS,
    ]
    assert (COUNTED.per_gpu(TENTHS), COUNTED.per_gpu(GPU), SIZED.per_gpu(GPU)) == (10, 1, 1)


def test_part_that_no_node_offers_is_refused() -> None:
    offered = {GPU: Decimal(8), SHARED: Decimal(32)}
    with pytest.raises(ConflictError) as refused:
        refuse_unavailable({MIG: "1"}, offered, SIZED)
    assert (refused.value.message, refused.value.hint) == (
        "No node offers nvidia.com/mig-1g.10gb, so this run would never start.",
        (
            "Use a whole GPU: `--gpus 1`. Fractions are: `--gpus 0.25`. Or ask a platform admin to"
            " offer it on a node."
        ),
    )


def test_part_is_not_refused_before_nodes_were_seen() -> None:
    refuse_unavailable({MIG: "1"}, {}, SIZED)
    refuse_unavailable({MIG: "1"}, {MIG: Decimal(7)}, SIZED)


def with_cluster(rig: Rig, **cluster: object) -> None:
    rig.policy = Settings.model_validate(
        rig.policy.model_dump() | {"clusters": {"default": cluster}}
    )


def test_offered_part_of_a_gpu_is_submitted(rig: Rig) -> None:
    share_gpus(rig.world)
    excluded = ["cpu", "memory"]
    with_cluster(rig, fractions={"units": {"resource": TENTHS}}, excluded_resources=excluded)
    rig.look()
    run_id = rig.submit(gpus=Decimal("0.6"))
    spec = spec_of(rig.get(run_id))
    assert (spec.gpus, spec.gpu_resource, spec.gpus_requested) == (
        Decimal("0.6"),
        TENTHS,
        {TENTHS: "6"},
    )
    assert (spec.cpu, spec.memory, spec.shm) == ("4.8", "39Gi", "5Gi")
    rig.run()
    rig.look()
    rig.run()
    (pod,) = rig.world.list("pods", "team-a")
    assert pod["spec"]["containers"][0]["resources"]["requests"] == {
        "cpu": "4.8",
        "memory": "44Gi",
        TENTHS: "6",
    }


def test_missing_part_is_refused_before_writing(rig: Rig) -> None:
    with pytest.raises(UsageError) as refused:
        rig.submit(gpus=Decimal("0.5"))
    assert refused.value.message == "This cluster allocates whole GPUs only, not 0.5."
    with_cluster(rig, fractions={"sizes": {"0.5": MIG}})
    with pytest.raises(ConflictError) as unavailable:
        rig.submit(gpus=Decimal("0.5"))
    assert unavailable.value.message == (
        "No node offers nvidia.com/mig-1g.10gb, so this run would never start."
    )
    assert rig.do(lambda session: session.scalars(select(Run)).all()) == []
