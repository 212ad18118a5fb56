"""In which cluster the Jobs of a dataset run: the named one, or that of its newest version."""

from sqlmodel import Session

from bot.config import Datasets
from bot.datasets import finding
from bot.datasets.tables import Version
from bot.errors import ConflictError


def at_work(session: Session, datasets: Datasets, dataset_id: str, cluster: str = "") -> Datasets:
    """The settings of the cluster in which a Job for a dataset runs.

    It is the named one, or else that of the newest version; ConflictError if no datasets are in it.
    """
    several = "Name one of these that your team has, or omit `--cluster`."
    refuse_elsewhere(datasets, cluster, several if datasets.clusters else "Omit `--cluster`.")
    if cluster:
        return datasets.at(cluster)
    return at_last(datasets, finding.newest(finding.versions(session, dataset_id)))


def at_last(datasets: Datasets, version: Version | None) -> Datasets:
    """The settings of the cluster of a version; without it, or if it is gone, of the first one.

    Pods of that cluster have reached the store of the dataset.
    """
    is_there = version is not None and version.cluster in datasets.everywhere
    return datasets.at(version.cluster if version and is_there else datasets.cluster)


def refuse_elsewhere(datasets: Datasets, cluster: str, hint: str) -> None:
    """ConflictError if no datasets are in the named cluster."""
    if cluster and cluster not in datasets.everywhere:
        raise ConflictError(f"Datasets are in {spelled(datasets)}, not in cluster {cluster}.", hint)


def spelled(datasets: Datasets) -> str:
    """The clusters that datasets are in, as words."""
    there = datasets.everywhere
    return f"cluster {there[0]}" if len(there) == 1 else f"clusters {' and '.join(there)}"


def shown(datasets: Datasets | None, cluster: str) -> str:
    """How cards name the cluster of a Job; empty if datasets are in one cluster alone."""
    return cluster if datasets is not None and len(datasets.everywhere) > 1 else ""
