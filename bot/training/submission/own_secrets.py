"""Keeps runs from reading Secrets that are not their team's: tokens of sessions, keys of runs."""

import re
from collections.abc import Iterator

from bot.cluster.cluster import Cluster
from bot.cluster.ownership import is_managed
from bot.cluster.resources import SECRETS
from bot.config import ClusterSettings
from bot.errors import NotAllowedError
from bot.training.kinds import ROOTS
from bot.training.spec import RunSpec, spec_of
from bot.training.tables import Run

# As `service_name` of sessions, the keys of runs, and operators for their own runs call theirs.
_NAMES = re.compile(r"session-.+-[0-9a-f]{10}|.+-[0-9a-f]{10}-(?:mpi-)?ssh(?:-.+)?")
_ROOT_KINDS = frozenset(each.kind for each in ROOTS)


def refuse_named(spec: RunSpec, cluster: ClusterSettings) -> None:
    """NotAllowedError when the name of a Secret shows that it is not the team's."""
    way = cluster.ingress
    of_ingress = way.tls_secret if way is not None else None
    for name in _named(spec):
        if name == of_ingress or _NAMES.fullmatch(name):
            raise _refusal(name)


def refuse_marked(cluster: Cluster, run: Run) -> None:
    """NotAllowedError when the labels of a Secret, read live, show that it is not the team's."""
    for name in dict.fromkeys(_named(spec_of(run))):
        found = cluster.get(SECRETS, name, run.namespace)
        if found is None:
            continue
        owners = {each.kind for each in found.metadata.owner_references}
        if is_managed(found.labels) or owners & _ROOT_KINDS:
            raise _refusal(name)


def _named(spec: RunSpec) -> Iterator[str]:
    yield from (each.secret for each in spec.secrets)
    yield from spec.pull_secrets


def _refusal(name: str) -> NotAllowedError:
    return NotAllowedError(
        f"Secret {name} does not belong to the team: it holds the token of a session, or keys.",
        "Use a Secret that your team created: `--secret WANDB_API_KEY=wandb/api-key`.",
    )
