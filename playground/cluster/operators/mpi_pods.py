"""What the mpi-operator creates for an MPIJob."""

from hashlib import sha256
from typing import Any

from playground.cluster.objects.kinds import Object
from playground.cluster.objects.store import key_of
from playground.cluster.operators.replicas import (
    INDEX,
    JOB_NAME,
    OPERATOR,
    ROLE,
    is_suspended,
    policy_of,
    restart_policy,
)

_KEYS = (
    ("ssh-privatekey", "id_rsa"),
    ("ssh-publickey", "id_rsa.pub"),
    ("ssh-publickey", "authorized_keys"),
)
_OPEN_MPI = (
    ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
    ("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"),
    ("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10"),
)


def _labels(job: Object, role: str) -> dict[str, str]:
    return {OPERATOR: "mpi-operator", JOB_NAME: job["metadata"]["name"], ROLE: role}


def _named(job: Object, tail: str = "") -> dict[str, Any]:
    name = job["metadata"]["name"]
    return {"name": f"{name}{tail}", "labels": {"app": name}}


def headless_service(job: Object) -> Object:
    """The Service by which the pods of an MPIJob find each other."""
    name = job["metadata"]["name"]
    selector = {OPERATOR: "mpi-operator", JOB_NAME: name}
    return {"metadata": _named(job), "spec": {"clusterIP": "None", "selector": selector}}


def ssh_keys(job: Object) -> Object:
    """The Secret with the keys that pods of an MPIJob let each other in with."""
    mark = sha256(job["metadata"]["uid"].encode()).hexdigest()
    data = {"ssh-privatekey": f"not a key {mark}\n", "ssh-publickey": f"ssh-ecdsa {mark}\n"}
    return {
        "metadata": _named(job, "-ssh"),
        "type": "kubernetes.io/ssh-auth",
        "stringData": data,
    }


def host_list(job: Object) -> Object:
    """The ConfigMap that tells the launcher its workers."""
    space, name = key_of(job)
    slots = job["spec"].get("slotsPerWorker", 1)
    number = (job["spec"]["mpiReplicaSpecs"].get("Worker") or {}).get("replicas", 0)
    hosts = [f"{name}-worker-{n}.{name}.{space}.svc slots={slots}\n" for n in range(number)]
    data = {"hostfile": "".join(hosts), "discover_hosts.sh": "#!/bin/sh\n"}
    return {"metadata": _named(job, "-config"), "data": data}


def _pod(job: Object, role: str, host: str, usual: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Metadata and spec of a pod of one role, reachable by its host name, with keys."""
    replica = job["spec"]["mpiReplicaSpecs"][role]
    template, name = replica["template"], job["metadata"]["name"]
    metadata = dict(template.get("metadata") or {})
    metadata["labels"] = {**(metadata.get("labels") or {}), **_labels(job, role.lower())}
    items = [{"key": key, "path": path} for key, path in _KEYS]
    keys = {"name": "ssh-auth", "secret": {"secretName": f"{name}-ssh", "items": items}}
    mount = {"name": "ssh-auth", "mountPath": job["spec"].get("sshAuthMountPath", "/root/.ssh")}
    first, *others = template["spec"]["containers"]
    first = {**first, "volumeMounts": [*(first.get("volumeMounts") or ()), mount]}
    env = [{"name": "K_MPI_JOB_ROLE", "value": role.lower()}]
    first["env"] = [*(first.get("env") or ()), *env]
    spec = {
        **template["spec"],
        "hostname": host,
        "subdomain": name,
        "restartPolicy": restart_policy(replica, usual),
        "volumes": [*(template["spec"].get("volumes") or ()), keys],
        "containers": [first, *others],
    }
    return metadata, spec


def worker_pod(job: Object, number: int) -> Object:
    """One worker."""
    name = f"{job['metadata']['name']}-worker-{number}"
    metadata, spec = _pod(job, "Worker", name, "Never")
    first = spec["containers"][0]
    if not first.get("command") and not first.get("args"):
        first["command"] = ["/usr/sbin/sshd", "-De"]
    metadata["labels"][INDEX] = str(number)
    return {"metadata": {**metadata, "name": name}, "spec": spec}


def launcher_job(job: Object) -> Object:
    """The Job that runs the launcher."""
    name = f"{job['metadata']['name']}-launcher"
    metadata, spec = _pod(job, "Launcher", name, "OnFailure")
    first = spec["containers"][0]
    slots = str(job["spec"].get("slotsPerWorker", 1))
    known = [*_OPEN_MPI, ("OMPI_MCA_orte_set_default_slots", slots)]
    known += [("NVIDIA_VISIBLE_DEVICES", ""), ("NVIDIA_DRIVER_CAPABILITIES", "")]
    first["env"] += [{"name": key, "value": value} for key, value in known]
    config = {"name": "mpi-job-config", "configMap": {"name": f"{job['metadata']['name']}-config"}}
    spec["volumes"].append(config)
    first["volumeMounts"].append({"name": "mpi-job-config", "mountPath": "/etc/mpi"})
    policy = policy_of(job)
    limits = ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit")
    return {
        "metadata": _named(job, "-launcher"),
        "spec": {
            **{limit: policy[limit] for limit in limits if policy.get(limit) is not None},
            "suspend": is_suspended(job),
            "template": {"metadata": metadata, "spec": spec},
        },
    }
