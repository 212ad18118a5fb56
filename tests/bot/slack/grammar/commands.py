"""A few commands as handlers declare them, for the tests beside this file."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TypedDict, Unpack

from bot.slack.card import Reply
from bot.slack.grammar.container_parameters import (
    ClaimMount,
    EnvironmentPair,
    EnvironmentVariable,
    ImageReference,
    NewVolume,
    SecretPair,
    SecretReference,
    VolumeMount,
)
from bot.slack.grammar.declarations import Command, of_no_team
from bot.slack.grammar.parameters import (
    Amount,
    Duration,
    GpuAmount,
    GpuCount,
    Reference,
    RunName,
    RunReference,
    TeamName,
    WholeNumber,
)
from bot.slack.markup import plain


class Right(StrEnum):
    RUN = "run"
    LOOK = "look"
    ASK = "ask"


@dataclass(frozen=True)
class Context:
    person: str


@dataclass(frozen=True)
class Submission:
    name: str
    image: str
    gpus: int
    env: tuple[EnvironmentVariable, ...]
    secrets: tuple[SecretReference, ...]
    mounts: tuple[VolumeMount | NewVolume, ...]
    time: timedelta | None
    team: str | None
    command: tuple[str, ...]


class LogOptions(TypedDict):
    run: Reference
    tail: int


def declare_train() -> Command:
    train = Command("train", "Training runs: submit, follow, stop")

    @train.verb(
        "submit",
        "Start a training run",
        right=Right.RUN,
        mutates=True,
        into=Submission,
        examples=("submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py",),
    )
    @train.argument("name", RunName(), help="what to call it")
    @train.option("--image", ImageReference(), required=True, help="what to run")
    @train.option("--gpus", GpuCount(maximum=64), default=1)
    @train.option("--env", EnvironmentPair(), multiple=True)
    @train.option("--secret", "secrets", SecretPair(), multiple=True)
    @train.option("--pvc", "mounts", ClaimMount(), multiple=True)
    @train.option("--time", Duration())
    @train.option("--team", TeamName())
    @train.rest("command", help="what the container runs")
    def submit(ctx: Context, asked: Submission) -> Reply:
        return Reply((plain(f"{ctx.person}: {asked}"),))

    @train.verb("logs", "Show the last lines", right=Right.LOOK, examples=("logs a",))
    @train.argument("run", RunReference())
    @train.option("--tail", WholeNumber(1, 200), default=50)
    def logs(ctx: Context, **options: Unpack[LogOptions]) -> Reply:
        return Reply((plain(f"{ctx.person}: {options['run'].spelled} {options['tail']}"),))

    @train.verb("list", "Show this team's runs", right=Right.LOOK, examples=("list", "list --all"))
    @train.option("--all", flag=True, help="those of other teams too")
    def show_all(ctx: Context, *, all: bool) -> Reply:  # noqa: A002 - the flag's own word
        return Reply((plain(f"{ctx.person}: {all}"),))

    @train.button("train.stop", right=Right.RUN, team=of_no_team)
    def stop(ctx: Context, value: str) -> Reply:
        return Reply((plain(f"{ctx.person} stops {value}"),))

    return train


def declare_quota() -> Command:
    quota = Command("quota", "GPU quota: what your team may use, uses and waits for")

    @quota.verb(
        "request",
        "Ask for more GPUs for a while",
        right=Right.ASK,
        mutates=True,
        examples=('request +8 --for 3d --reason "CVPR deadline"',),
    )
    @quota.argument("amount", GpuAmount())
    @quota.option("--for", "duration", Duration(maximum=timedelta(days=14)), default=timedelta(1))
    @quota.option("--reason", required=True)
    def request(ctx: Context, amount: Amount, duration: timedelta, reason: str) -> Reply:
        return Reply((plain(f"{ctx.person}: {amount.spelled} {duration} {reason}"),))

    return quota
