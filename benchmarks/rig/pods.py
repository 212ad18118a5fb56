"""Pods that fill a cluster, as large as those that stand in one."""

from playground.cluster.objects.kinds import Object

NAMESPACE, STEM = "team-b", "other"


def training_pod() -> Object:
    """A training pod as it stands in a cluster, 5 kB with all that people and tools add.

    It carries the label by which the bot watches pods; the others it never reads.
    """
    resources = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"}
    env = [{"name": f"SETTING_{number}", "value": "x" * 40} for number in range(40)]
    container = {
        "name": "main",
        "image": "ghcr.io/acme/lane:3.1",
        "command": ["python", "train.py"],
        "env": env,
        "resources": {"requests": resources, "limits": resources},
    }
    status = {
        "name": "main",
        "image": "ghcr.io/acme/lane:3.1",
        "imageID": "ghcr.io/acme/lane@sha256:0",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "lastState": {},
        "state": {"running": {"startedAt": "2026-11-21T00:00:00Z"}},
    }
    labels = {f"acme.example/label-{number}": "some-value" for number in range(20)}
    labels["quartermaster.dev/run"] = "of-another-installation"
    return {
        "metadata": {"name": STEM, "labels": labels},
        "spec": {"nodeName": "gpu-1", "restartPolicy": "Never", "containers": [container]},
        "status": {"phase": "Running", "containerStatuses": [status]},
    }
