"""Checks, for `quartermaster doctor`, of what the kinds of runs need from a cluster."""

from collections.abc import Iterator, Mapping, Sequence

from bot.cluster.cluster import Cluster
from bot.config import Team
from bot.findings import Finding, Findings
from bot.training.kinds import KINDS, ROOTS
from bot.training.kinds.kind import RootType


def served(cluster: Cluster) -> tuple[RootType, ...]:
    """What runs can be in this cluster: of all types of root, those whose versions it serves."""
    return tuple(
        root
        for root in ROOTS
        if not root.needs or set(root.resource.versions) & set(cluster.served(root.resource.group))
    )


def kind_findings(roots: Sequence[RootType], teams: Mapping[str, Team], about: str) -> Findings:
    """What runs can be, and a warning for each kind that a team names but cannot use."""
    absent = [each for each in ROOTS if each not in roots]
    says = f"runs can be {', '.join(f'{each.kind}s' for each in roots)}"
    if absent:
        says += f"; it does not serve {', '.join(f'{each.kind}s' for each in absent)}"
    yield Finding(f"{about} kinds", "ok", says)
    for name, team in sorted(teams.items()):
        for kind, root in _unusable(team, roots):
            says = f"{name} may use --kind {kind}, but {root.resource.plural} are not served"
            yield Finding(f"{about} kinds", "warning", says, root.needs)


def _unusable(team: Team, roots: Sequence[RootType]) -> Iterator[tuple[str, RootType]]:
    for name in team.admission.kinds:
        forms = [each.root for each in KINDS.values() if each.name == name]
        if not any(each in roots for each in forms):
            yield name, forms[0]
