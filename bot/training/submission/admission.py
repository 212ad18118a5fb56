"""Checks a run against its team's admission policy and limits in quartermaster.yaml."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from bot.config import Admission, Team
from bot.durations import format_duration
from bot.errors import LimitError, NotAllowedError
from bot.training.kinds import gpus_of
from bot.training.lasting import refuse_long
from bot.training.spec import RunSpec
from bot.training.wording import gpus as gpus_words

_SHOWN = 10


def refuse_forbidden(spec: RunSpec, team: str, policy: Admission) -> None:
    """NotAllowedError when the policy forbids the run; the hint lists what it allows."""
    if policy.kinds and spec.kind not in policy.kinds:
        raise NotAllowedError(
            f"{team} may not use `--kind {spec.kind}`.", f"It may use: {_kinds(policy.kinds)}."
        )
    if policy.images and not any(fnmatchcase(spec.image, each) for each in policy.images):
        raise NotAllowedError(
            f"{team} may not run the image {spec.image}.",
            f"It may run: {_listed([f'`{each}`' for each in policy.images])}.",
        )
    if spec.host_network and spec.kind not in policy.host_network:
        raise _closed(spec, team, "host_network", "use the host network", policy.host_network)
    if spec.privileged and spec.kind not in policy.privileged:
        raise _closed(spec, team, "privileged", "run privileged containers", policy.privileged)


def refuse_excess(spec: RunSpec, team_name: str, team: Team) -> None:
    """LimitError when the run is larger or longer than the team's limits allow."""
    limits, asked = team.limits, gpus_of(spec)
    if spec.session_seconds is not None:
        refuse_long(spec, team_name, team)
    if asked > limits.gpus_per_run:
        raise LimitError(
            f"{gpus_words(asked)} {'exceeds' if asked == 1 else 'exceed'} the limit of {team_name}"
            f" for one run: {limits.gpus_per_run}.",
            f"Use `--gpus {limits.gpus_per_run}` or fewer, or ask an admin for a higher limit.",
        )
    if limits.time is None or spec.session_seconds is not None:
        return
    longest = format_duration(limits.time).replace(" ", "")
    if spec.time_limit is None:
        raise LimitError(
            f"Runs of {team_name} need a time limit of at most {longest}.",
            f"Add `--time {longest}` or less.",
        )
    if spec.time_limit > limits.time:
        raise LimitError(
            f"{format_duration(spec.time_limit)} exceeds the time limit for runs of {team_name}:"
            f" {format_duration(limits.time)}.",
            f"Use `--time {longest}` or less.",
        )


def _closed(
    spec: RunSpec, team: str, option: str, what: str, kinds: Sequence[str]
) -> NotAllowedError:
    """The error for an option that is forbidden unless the policy allows it."""
    dashed = f"--{option.replace('_', '-')}"
    allowed = f" Allowed with: {_kinds(kinds)}." if kinds else ""
    return NotAllowedError(
        f"{team} may not {what} with `--kind {spec.kind}`.",
        f"Leave `{dashed}` out.{allowed} A platform admin can allow it: `admission.{option}` for"
        " the team in quartermaster.yaml.",
    )


def _kinds(kinds: Sequence[str]) -> str:
    return ", ".join(f"`--kind {each}`" for each in kinds)


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more
