"""A run, written out as the options that would submit it again, is the same run."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from bot.config import Team
from bot.slack.grammar.filling import initials_of, spelled
from bot.slack.grammar.registry import Parsed, Registry
from bot.training.spec import RunSpec, to_row
from bot.training.submission.building import Submission, fill_in
from bot.training.submission.end_snapshots import wished
from bot.training.submission.retyping import retyped
from bot.training.tables import Run
from handlers.declared import COMMANDS

NOW = datetime(2026, 11, 26, 9, tzinfo=UTC)
REGISTRY = Registry(COMMANDS)
SUBMIT = REGISTRY.commands["train"].verbs["submit"]
TEAM = Team.model_validate({"namespace": "team-a", "local_queue": "team-a"})
EVERY_APPLYING = SUBMIT.form.dependent


def asked(text: str) -> tuple[Submission, RunSpec]:
    """A command and the spec that it means for the team."""
    parsed = REGISTRY.parse("train", text)
    assert isinstance(parsed, Parsed)
    submission = Submission(**parsed.values)  # type: ignore[arg-type]
    spec = fill_in(submission, TEAM, "nvidia.com/gpu", None)
    told = {
        "data": submission.versions,
        "snapshot": wished(submission),
        "preset": submission.preset,
        "gpu_type": submission.gpu_type,
        "artifacts": submission.paths,
    }
    return submission, replace(spec, **told)


def run_of(spec: RunSpec) -> Run:
    return Run(
        workspace_id="T0QM", team="team-a", name="lane", number=1, person="U0ALICE",
        channel="C0TEAMA", cluster="default", namespace="team-a", queue="team-a",
        job_name="lane-1", spec=to_row(spec), asked_at=NOW, since=NOW,
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "submit lane --image lane:3",
        "submit lane --image lane:3 --gpus 2 --cpu 3 --memory 7Gi --shm 1Gi --gpu-type h100",
        "submit lane --image lane:3 --gpus 0.5 --time 1d12h --priority high --code acme/l@3f2a9c1",
        "submit lane --image lane:3 --env 'NOTE=two \"words\"\n  in lines' --secret K=wandb/key",
        (
            "submit lane --image lane:3 --pvc data:/data:ro --pvc out:/out --data xray@v3:/x"
            " --artifact /out/model.pt --snapshot out --snapshot-on always --snapshot-keep off"
        ),
        "submit lane --image lane:3 --kind elastic --nodes 1:3 --processes 2 --gpus 1",
        "submit lane --image lane:3 --kind sync --nodes 2 --launcher torchrun -- python 'a b.py'",
        "submit lane --image lane:3 --kind sync --nodes 2 --worker-command 'bash \"s w.sh\" 22'",
        "submit lane --image lane:3 --kind nccl --form all-pairs --nodes 4 --gpus 8 -- all_reduce",
        "submit lane --image lane:3 --kind interactive --port 9000 --time 4h",
        "submit lane --image lane:3 --kind sync --nodes 2 --efa 2 --host-network --privileged",
    ],
)
def test_a_run_written_out_is_the_same_run(text: str) -> None:
    before, spec = asked(text)
    run = run_of(spec)
    texts = initials_of(SUBMIT, retyped(run, TEAM), EVERY_APPLYING)
    again, same = asked(spelled(SUBMIT, texts))
    assert same == spec
    assert again.name == before.name


def test_a_created_pvc_is_mounted_again() -> None:
    _, spec = asked("submit lane --image lane:3 --pvc fast:100Gi:/scratch")
    run = run_of(spec)
    assert retyped(run, TEAM)["pvc"] == ["pvc-lane-1-0:/scratch"]
