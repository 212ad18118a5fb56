"""Changes to manifests for engines that do not suspend runs."""

from collections.abc import Iterator
from typing import Any

from bot.quotas.engines.engine import Manifest

_LIMIT = "activeDeadlineSeconds"


def started_at_once(manifest: Manifest) -> None:
    """Lets the run start as soon as nodes have capacity, and its time limit count from then.

    A Job's own time limit would count while its pods wait for a node; theirs do not.
    """
    spec = manifest["spec"]
    policy = policy_of(manifest)
    policy.pop("suspend", None)
    limit = policy.pop(_LIMIT, None)
    if limit is None:
        return
    for template in templates(spec):
        template["spec"][_LIMIT] = limit


def policy_of(manifest: Manifest) -> Manifest:
    """The part of a manifest that says how long and how often it runs."""
    spec: Manifest = manifest["spec"]
    policy: Manifest = spec.get("runPolicy", spec)
    return policy


def templates(part: Any) -> Iterator[Manifest]:
    """Every pod template inside a manifest."""
    spec = part.get("spec") if isinstance(part, dict) else None
    if isinstance(spec, dict) and "containers" in spec:
        yield part
    elif isinstance(part, dict | list):
        for each in part.values() if isinstance(part, dict) else part:
            yield from templates(each)
