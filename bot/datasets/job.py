"""Builds the Job of a survey: the bot's image with store keys mounted, without RBAC rights."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from bot.cluster import labels
from bot.cluster.types.containers import unexpanded, without_gpus
from bot.cluster.types.objects import Condition, Job, find_condition
from bot.config import Datasets, Store
from bot.datasets import selection as selecting
from bot.datasets.object_store import settings_of
from bot.datasets.tables import CopyState, Version

Manifest = dict[str, Any]
CONTAINER = "worker"
STORES_FOLDER = "/etc/quartermaster/stores"
ATTEMPTS = 3
LONGEST_SECONDS = 12 * 3600
# Long enough for a bot that was down over a weekend to read what was found.
_KEEP_FINISHED_SECONDS = 3 * 86_400
_NOT_WORTH_REPEATING = 65
_LONGEST_SLUG = 30


def job_name(dataset: str, row_id: str) -> str:
    """The name of a version's Job, the same each time, so that a repeated step finds it."""
    slug = re.sub(r"[^a-z0-9]+", "-", dataset.lower()).strip("-")[:_LONGEST_SLUG].strip("-")
    return f"{slug or 'dataset'}-{row_id[-10:]}"


def survey_job(
    version: Version, datasets: Datasets, stores: Mapping[str, Store], installation: str
) -> Manifest:
    """The Job that lists a version's source and writes its manifest."""
    used = {name: stores[name] for name in (version.store, version.manifest_store)}
    arguments = [
        *("survey", "--source", version.source),
        *("--source-store", told(version.store, used[version.store])),
        *("--manifest", version.manifest),
        *("--manifest-store", told(version.manifest_store, used[version.manifest_store])),
    ]
    if version.copy_state == CopyState.WANTED:
        arguments += copies_of(version, stores)
    return _job(version, worker_pod(datasets, used, arguments), installation)


def select_job(
    version: Version,
    of: Version,
    datasets: Datasets,
    stores: Mapping[str, Store],
    installation: str,
) -> Manifest:
    """The Job that writes the manifest of the selected files of version `of`."""
    used = {name: stores[name] for name in (version.store, version.manifest_store)}
    selection = selecting.read(version.selection)
    arguments = [
        *("select", "--source", version.source),
        *("--source-store", told(version.store, used[version.store])),
        *("--manifest", version.manifest),
        *("--manifest-store", told(version.manifest_store, used[version.manifest_store])),
        *("--of", of.manifest, "--digest", of.digest or ""),
        *(selection.arguments if selection is not None else ()),
    ]
    if version.copies:
        arguments += copies_of(version, stores)
    return _job(version, worker_pod(datasets, used, arguments), installation)


def sweep_job(
    version: Version,
    kept: Iterable[str],
    datasets: Datasets,
    stores: Mapping[str, Store],
    installation: str,
) -> Manifest:
    """The Job that deletes the copies which none of the manifests in `kept` names."""
    used = {version.manifest_store: stores[version.manifest_store]}
    keep = (word for manifest in kept for word in ("--keep", manifest))
    arguments = ["sweep", *copies_of(version, stores), *keep]
    return _job(version, worker_pod(datasets, used, arguments), installation)


def copies_of(version: Version, stores: Mapping[str, Store]) -> list[str]:
    """The arguments that name the copies of a version; its pod has the keys of that store."""
    store = version.manifest_store
    return ["--copies", version.copies, "--copies-store", told(store, stores[store])]


def _job(version: Version, pod: Manifest, installation: str) -> Manifest:
    ours = {
        labels.MANAGED_BY: labels.MANAGER,
        labels.INSTALLATION: installation,
        labels.DATASET_VERSION: version.id,
        labels.TEAM: version.team,
        labels.PERSON: version.person,
    }
    metadata = {"name": version.job_name, "namespace": version.namespace, "labels": ours}
    return worker_job(metadata, pod, LONGEST_SECONDS)


def worker_job(metadata: Manifest, pod: Manifest, longest_seconds: int) -> Manifest:
    """A Job of that pod, retried unless a retry cannot help; its pods have its labels."""
    return {
        "metadata": metadata,
        "spec": {
            "backoffLimit": ATTEMPTS,
            "activeDeadlineSeconds": longest_seconds,
            "ttlSecondsAfterFinished": _KEEP_FINISHED_SECONDS,
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": _FAILURE_POLICY,
            "template": {"metadata": {"labels": metadata["labels"]}, "spec": pod},
        },
    }


_FAILURE_POLICY: Manifest = {
    "rules": [
        {
            "action": "FailJob",
            "onExitCodes": {"operator": "In", "values": [_NOT_WORTH_REPEATING]},
        },
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    ]
}


def worker_pod(
    datasets: Datasets, stores: Mapping[str, Store], arguments: Iterable[str]
) -> Manifest:
    """A pod of the bot's image with the keys of these stores mounted, without RBAC rights."""
    keys = {name: store.secret for name, store in stores.items() if store.secret}
    pod: Manifest = {
        "restartPolicy": "Never",
        # A cloud's identity comes by a token of its own; none for Kubernetes is needed.
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": datasets.uid,
            "runAsGroup": datasets.gid,
            "fsGroup": datasets.gid,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(datasets.image, keys, arguments)],
        "volumes": [
            *(
                {"name": f"keys-{number}", "secret": {"secretName": secret, "defaultMode": 0o440}}
                for number, secret in enumerate(keys.values())
            ),
            # Where a store lists out of order, keys are sorted there.
            {"name": "tmp", "emptyDir": {"sizeLimit": "10Gi"}},
        ],
    }
    if datasets.service_account:
        pod["serviceAccountName"] = datasets.service_account
    if datasets.pull_secrets:
        pod["imagePullSecrets"] = [{"name": name} for name in datasets.pull_secrets]
    return pod


def _container(image: str, keys: Iterable[str], arguments: Iterable[str]) -> Manifest:
    return {
        "name": CONTAINER,
        "image": image,
        "args": list(map(unexpanded, arguments)),
        "env": [without_gpus()],
        "resources": {
            "requests": {"cpu": "500m", "memory": "512Mi"},
            "limits": {"memory": "512Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            *(
                {"name": f"keys-{number}", "mountPath": _folder(name), "readOnly": True}
                for number, name in enumerate(keys)
            ),
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - a volume of the pod's own
        ],
    }


def told(name: str, store: Store) -> str:
    """The JSON that tells the worker how to reach a store, and the folder of its keys."""
    has_ca = store.ca_file is not None and store.secret is not None
    ca_file = f"{_folder(name)}/ca.crt" if has_ca else None
    found = settings_of(store, ca_file, _folder(name) if store.secret else None)
    return json.dumps(msgspec.structs.asdict(found))


def _folder(store: str) -> str:
    return f"{STORES_FOLDER}/{store}"


def took_too_long(job: Job) -> bool:
    """Whether the Job exceeded its deadline."""
    found = _failure(job)
    return found is not None and found.reason == "DeadlineExceeded"


def silent_end(job: Job) -> str:
    """Sentences: after how many attempts it failed, and what Kubernetes reports."""
    found = _failure(job)
    tries = f" after {job.status.failed} attempts" if job.status.failed > ATTEMPTS else ""
    why = f" Kubernetes reports: {found.message}" if found is not None and found.message else ""
    return f"Its pod failed{tries} without reporting a reason.{why}"


def _failure(job: Job) -> Condition | None:
    return find_condition(job.status.conditions, "Failed")
