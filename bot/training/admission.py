"""What a team may run at all, by its policy in the configuration."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from bot.config import Admission
from bot.errors import NotAllowedError
from bot.training.spec import RunSpec

_SHOWN = 10


def refuse_forbidden(spec: RunSpec, team: str, policy: Admission) -> None:
    """NotAllowedError when the team may not run this; it says what the team may."""
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
        raise _closed(spec, team, "host_network", "use the network of nodes", policy.host_network)
    if spec.privileged and spec.kind not in policy.privileged:
        raise _closed(spec, team, "privileged", "run privileged containers", policy.privileged)


def _closed(
    spec: RunSpec, team: str, option: str, what: str, kinds: Sequence[str]
) -> NotAllowedError:
    """The refusal of what is forbidden unless it is allowed."""
    dashed = f"--{option.replace('_', '-')}"
    allowed = f" It may with: {_kinds(kinds)}." if kinds else ""
    return NotAllowedError(
        f"{team} may not {what} with `--kind {spec.kind}`.",
        f"Leave `{dashed}` out.{allowed} A platform admin can allow it: `admission.{option}` of the"
        " team in quartermaster.yaml.",
    )


def _kinds(kinds: Sequence[str]) -> str:
    return ", ".join(f"`--kind {each}`" for each in kinds)


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more
