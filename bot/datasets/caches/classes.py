"""The storage classes for caches, and whether many nodes can mount their volumes."""

from collections.abc import Callable, Mapping

from bot.cluster.cluster import Cluster
from bot.cluster.resources import STORAGE_CLASSES
from bot.config import CacheClass, Datasets, Settings
from bot.datasets.caches.shares.shareable import Storage, unshareable
from bot.errors import ConflictError, NotFoundError, UsageError
from bot.slack.reading import closest

_MANY = "ReadWriteMany"


class Classes:
    """The configured storage classes, checked against the cluster."""

    def __init__(self, settings: Callable[[], Settings], clusters: Mapping[str, Cluster]) -> None:
        self._settings = settings
        self._clusters = clusters

    def datasets(self) -> Datasets:
        """The configuration of caching; ConflictError if there is none."""
        datasets = self._settings().datasets
        if datasets is None or not datasets.classes:
            raise ConflictError(
                "Caching is not set up here.",
                "A platform admin can add storage classes to datasets.classes in"
                " quartermaster.yaml; see docs/datasets.md.",
            )
        return datasets

    def settings(self, name: str) -> CacheClass:
        """The configuration of a class."""
        return self.datasets().classes[name]

    def chosen(self, name: str | None) -> str:
        """The requested class, or the default one if none was named.

        Raises:
            UsageError: there are several and none is the default.
            NotFoundError: the class is not configured for caches.
            ConflictError: the cluster does not have it, or only one node can mount its volumes.
        """
        datasets = self.datasets()
        known = list(datasets.classes)
        name = name or datasets.default_class or (known[0] if len(known) == 1 else None)
        if name is None:
            raise UsageError(
                "Name a storage class: there are several.",
                f"Add --class with one of: {', '.join(known)}.",
            )
        if name not in datasets.classes:
            near = closest(name, known)
            hint = f"Did you mean {near}?" if near else f"Use one of: {', '.join(known)}."
            raise NotFoundError(f"Storage class {name} is not used for caching.", hint)
        if datasets.classes[name].fsx is None:
            self._refuse_disks(datasets, name)
        return name

    def refuse_unshareable(self, name: str, namespace: str) -> None:
        """ConflictError if volumes of a class cannot be mounted in that namespace too."""
        datasets = self.datasets()
        if namespace == datasets.namespace:
            return
        view = self._clusters[datasets.cluster].view
        why = unshareable(view, Storage(name), datasets.static_drivers)
        if why is not None:
            raise ConflictError(f"Namespace {namespace} cannot mount it. {why.reason}", why.unblock)

    def layout(self, name: str | None) -> str:
        """The requested layout, empty for none; NotFoundError if it is not configured."""
        if name is None:
            return ""
        known = self.datasets().layouts
        if name not in known:
            near = closest(name, known)
            there = f"Use one of: {', '.join(known)}." if known else "No layouts are configured."
            raise NotFoundError(
                f"There is no layout {name}.", f"Did you mean {near}?" if near else there
            )
        return name

    def _refuse_disks(self, datasets: Datasets, name: str) -> None:
        """ConflictError for a class of disks; a class that the view has not read yet passes."""
        view = self._clusters[datasets.cluster].view
        told = self._settings().clusters[datasets.cluster].access_modes.get(name)
        found = view.get(STORAGE_CLASSES, name)
        if found is None and view.store(STORAGE_CLASSES).synced:
            raise ConflictError(
                f"Cluster {datasets.cluster} has no storage class {name}.",
                "A platform admin must create it or remove it from datasets.classes.",
            )
        is_disk = found is not None and found.makes_disks
        if told != _MANY and (told is not None or is_disk):
            raise ConflictError(
                f"Volumes of storage class {name} are for one node at a time ({_mode(told)}), but a"
                f" cache needs {_MANY}.",
                "Use a class for file storage such as NFS, not for disks, with --class.",
            )


def _mode(told: str | None) -> str:
    return told or "ReadWriteOnce"
