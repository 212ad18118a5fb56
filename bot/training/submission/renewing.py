"""Resubmitted runs: the current settings of the team applied to the original request."""

from collections.abc import Iterator

from msgspec.structs import replace

from bot.config import Fractions, Team
from bot.training.kinds.pods.security import security_of
from bot.training.session_time import longest
from bot.training.spec import RunSpec, Security
from bot.training.submission.fractions import gpu_requests


def as_today(spec: RunSpec, team: Team, gpu_resource: str, shares: Fractions | None) -> RunSpec:
    """The spec with the current service account, pull secrets, user and GPU resources.

    `shares` is None where the quota engine itself shares GPUs.
    """
    spec = replace(
        spec,
        gpu_resource=shares.counted(gpu_resource) if shares else gpu_resource,
        gpu_requests=gpu_requests(spec.gpus, gpu_resource, shares),
        service_account=team.service_account,
        pull_secrets=team.pull_secrets,
        security=security_of(team.admission, privileged=spec.privileged),
    )
    if spec.longest_seconds is None:
        return spec
    return replace(spec, longest_seconds=int(longest(team).total_seconds()))


def differences(before: RunSpec, now: RunSpec) -> tuple[str, ...]:
    """What differs in a resubmitted run, as sentences."""
    return tuple(_differences(before, now))


def _differences(before: RunSpec, now: RunSpec) -> Iterator[str]:
    if before.service_account != now.service_account:
        yield (
            f"Under the team's current settings, it runs as {_account(now)}; before, as"
            f" {_account(before)}."
        )
    if before.pull_secrets != now.pull_secrets:
        yield (
            f"Under the team's current settings, its image is pulled with {_secrets(now)}; before,"
            f" with {_secrets(before)}."
        )
    if before.security != now.security:
        yield (
            f"Under the team's current settings, its containers run {_secured(now)}; before,"
            f" {_secured(before)}."
        )
    if before.gpus_requested.keys() != now.gpus_requested.keys():
        yield f"It now requests {_resources(now)}; before, {_resources(before)}."


def _account(spec: RunSpec) -> str:
    name = spec.service_account
    return f"service account {name}" if name else "no service account of the team"


def _secrets(spec: RunSpec) -> str:
    return ", ".join(spec.pull_secrets) or "no pull secret"


def _secured(spec: RunSpec) -> str:
    security = spec.security or Security()
    numbers = {"user": security.user, "group": security.group, "volumes' group": security.fs_group}
    told = [f"{name} {number}" for name, number in numbers.items() if number is not None]
    level = "restricted, " if security.restricted else ""
    return f"{level}as {', '.join(told) or 'the user of its image'}"


def _resources(spec: RunSpec) -> str:
    return " and ".join(spec.gpus_requested) or "no GPU resource"
