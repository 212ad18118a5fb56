"""The pods that mount the PVCs of a namespace, by PVC."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.cluster import labels
from bot.cluster.holders import Holder
from bot.cluster.resources import HOLDERS, PODS
from bot.cluster.types.objects import Pod
from bot.cluster.view import View
from bot.masking import without_mentions

_OVER = frozenset({"Succeeded", "Failed"})


@dataclass(frozen=True)
class ClaimUser:
    """A pod that mounts a PVC; `run` and `person` are empty if it belongs to no run."""

    pod: str
    phase: str
    run: str = ""
    person: str = ""


def users_in(view: View, namespace: str) -> Mapping[str, Sequence[ClaimUser]]:
    """The pods of a namespace that have not ended, by the PVCs that they mount."""
    found: dict[str, list[ClaimUser]] = defaultdict(list)
    pods: list[Pod | Holder] = [*view.all(PODS, namespace), *view.all(HOLDERS, namespace)]
    for pod in pods:
        if pod.status.phase not in _OVER and pod.spec.claims:
            user = _user(pod)
            for claim in pod.spec.claims:
                found[claim].append(user)
    return {claim: sorted(users, key=_order) for claim, users in found.items()}


def _user(pod: Pod | Holder) -> ClaimUser:
    name = pod.metadata.annotations.get(labels.RUN_NAME, "") if labels.RUN in pod.labels else ""
    person = pod.labels.get(labels.PERSON, "")
    return ClaimUser(pod.name, pod.status.phase, without_mentions(name), person)


def _order(user: ClaimUser) -> tuple[bool, str, str]:
    return not user.run, user.run, user.pod
