from typing import Any

import pytest

from playground.cluster.control.growing import NODE_EXPANDS
from playground.cluster.story import NODE_RESOURCES, add_node, storage_class
from tests.playground.cluster.served import MERGE, PODS, Object, Served, conditions, pod, refusal

CLAIMS = "/api/v1/namespaces/team-a/persistentvolumeclaims"
ZONE = "topology.kubernetes.io/zone"


def claim(name: str = "data", wants: str = "fast", mode: str = "ReadWriteMany") -> Object:
    requests = {"requests": {"storage": "100Gi"}}
    spec = {"accessModes": [mode], "storageClassName": wants, "resources": requests}
    return {"metadata": {"name": name}, "spec": spec}


def user(name: str, claimed: str = "data", **spec: Any) -> Object:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claimed}}]
    return pod(name, volumes=volumes, **spec)


def on(node: str) -> Object:
    rows = [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]
    terms = {"nodeSelectorTerms": [{"matchExpressions": rows}]}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return {"affinity": {"nodeAffinity": rule}}


def offers(served: Served, name: str = "fast", **settings: Any) -> None:
    served.cluster.create("storageclasses", storage_class(name, **settings))


def found(served: Served, name: str = "data") -> Object:
    return served.get(f"{CLAIMS}/{name}")


def told(served: Served, name: str) -> list[tuple[str, str]]:
    fields = f"involvedObject.name={name}"
    rows = served.get("/api/v1/namespaces/team-a/events", fieldSelector=fields)["items"]
    return [(row["reason"], row["message"]) for row in rows]


def test_claim_is_provisioned_after_a_while(served: Served) -> None:
    offers(served)
    served.post(CLAIMS, claim())
    assert found(served)["status"] == {"phase": "Pending"}
    served.pass_time(6)
    bound = found(served)
    assert bound["status"] == {
        "phase": "Bound",
        "accessModes": ["ReadWriteMany"],
        "capacity": {"storage": "100Gi"},
    }
    name = f"pvc-{bound['metadata']['uid']}"
    assert bound["spec"]["volumeName"] == name
    volume = served.get(f"/api/v1/persistentvolumes/{name}")
    assert volume["status"]["phase"] == "Bound"
    assert volume["spec"]["claimRef"]["name"] == "data"
    assert {reason for reason, _ in told(served, "data")} == {
        "ExternalProvisioning",
        "Provisioning",
        "ProvisioningSucceeded",
    }


def test_unknown_class_leaves_a_claim_pending(served: Served) -> None:
    served.post(CLAIMS, claim(wants="nothing"))
    served.pass_time(60)
    assert found(served)["status"]["phase"] == "Pending"
    assert told(served, "data") == [
        ("ProvisioningFailed", 'storageclass.storage.k8s.io "nothing" not found')
    ]


def test_claim_without_class_takes_the_default(served: Served) -> None:
    body = claim()
    del body["spec"]["storageClassName"]
    assert served.post(CLAIMS, body)["spec"]["storageClassName"] == "standard"


def test_claim_without_any_class_says_so(served: Served) -> None:
    served.post(CLAIMS, claim(wants=""))
    why = "no persistent volumes available for this claim and no storage class is set"
    assert told(served, "data") == [("FailedBinding", why)]


def test_claim_takes_a_volume_that_fits(served: Served) -> None:
    spec = {
        "capacity": {"storage": "200Gi"},
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "",
        "nfs": {"server": "10.0.0.4", "path": "/lanes"},
    }
    served.post("/api/v1/persistentvolumes", {"metadata": {"name": "lanes"}, "spec": spec})
    assert served.get("/api/v1/persistentvolumes/lanes")["status"]["phase"] == "Available"
    served.post(CLAIMS, claim(wants=""))
    assert found(served)["spec"]["volumeName"] == "lanes"
    assert found(served)["status"]["capacity"] == {"storage": "200Gi"}
    served.admin.delete(f"{CLAIMS}/data")
    assert served.get("/api/v1/persistentvolumes/lanes")["status"]["phase"] == "Released"


def test_late_claim_waits_for_its_first_pod(served: Served) -> None:
    offers(served, waits=True)
    add_node(served.cluster, "far-1", NODE_RESOURCES, {ZONE: "eu-1a"})
    served.post(CLAIMS, claim())
    assert told(served, "data") == [
        ("WaitForFirstConsumer", "waiting for first consumer to be created before binding")
    ]
    served.post(PODS, user("one", **on("far-1")))
    assert "nodeName" not in served.get(f"{PODS}/one")["spec"]
    served.pass_time(6)
    assert served.get(f"{PODS}/one")["spec"]["nodeName"] == "far-1"
    served.post(PODS, user("two", **on("gpu-1")))
    assert conditions(served.get(f"{PODS}/two"))["PodScheduled"][2] == (
        "0/3 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, "
        "2 node(s) didn't match Pod's node affinity/selector. preemption: 0/3 nodes are "
        "available: 3 Preemption is not helpful for scheduling."
    )


def test_pod_waits_for_an_unbound_claim(served: Served) -> None:
    offers(served)
    served.post(CLAIMS, claim())
    served.post(PODS, user("one"))
    assert conditions(served.get(f"{PODS}/one"))["PodScheduled"][2] == (
        "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: "
        "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )
    served.pass_time(6)
    assert "nodeName" in served.get(f"{PODS}/one")["spec"]


def test_volume_of_one_node_is_not_shared(served: Served) -> None:
    served.post(CLAIMS, claim(wants="standard", mode="ReadWriteOnce"))
    served.post(PODS, user("one", **on("gpu-1")))
    served.pass_time(5)
    served.post(PODS, user("near", **on("gpu-1")))
    served.pass_time(5)
    served.post(PODS, user("two", **on("gpu-2")))
    served.pass_time(30)
    volume = found(served)["spec"]["volumeName"]
    multi = f'Multi-Attach error for volume "{volume}" Volume is already used by pod(s) near, one'
    assert ("FailedAttachVolume", multi) in told(served, "two")
    assert served.get(f"{PODS}/near")["status"]["phase"] == "Running"
    assert served.get(f"{PODS}/two")["status"]["phase"] == "Pending"
    for name in ("one", "near"):
        served.admin.delete(f"{PODS}/{name}")
    served.pass_time(40)
    assert served.get(f"{PODS}/two")["status"]["phase"] == "Running"


def test_volume_of_one_pod_keeps_others_out(served: Served) -> None:
    served.post(CLAIMS, claim(wants="standard", mode="ReadWriteOncePod"))
    served.post(PODS, user("one"))
    served.post(PODS, user("two"))
    words = conditions(served.get(f"{PODS}/two"))["PodScheduled"][2]
    assert words.startswith(
        "0/2 nodes are available: 2 node(s) unavailable due to PersistentVolumeClaim with "
        "ReadWriteOncePod access mode already in-use by another pod. "
    )


def test_used_claim_is_kept_until_unused(served: Served) -> None:
    served.post(CLAIMS, claim(wants="standard"))
    served.post(PODS, user("one"))
    served.admin.delete(f"{CLAIMS}/data")
    assert found(served)["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert "deletionTimestamp" in found(served)["metadata"]
    served.post(PODS, user("two"))
    assert (
        'persistentvolumeclaim "data" is being deleted'
        in (conditions(served.get(f"{PODS}/two"))["PodScheduled"][2])
    )
    served.admin.delete(f"{PODS}/one")
    served.pass_time(40)
    assert served.cluster.get("persistentvolumeclaims", "data", "team-a") is None


def test_volume_goes_with_its_claim(served: Served) -> None:
    served.post(CLAIMS, claim(wants="standard"))
    volume = found(served)["spec"]["volumeName"]
    served.admin.delete(f"{CLAIMS}/data")
    assert served.cluster.get("persistentvolumes", volume) is None


def test_bound_claim_grows_where_allowed(served: Served) -> None:
    served.post(CLAIMS, claim(wants="standard"))
    larger = {"spec": {"resources": {"requests": {"storage": "200Gi"}}}}
    assert served.patch(f"{CLAIMS}/data", larger).status_code == 200
    assert conditions(found(served))["Resizing"][0] == "True"
    served.pass_time(10)
    assert found(served)["status"]["capacity"] == {"storage": "200Gi"}
    assert ("VolumeResizeSuccessful", "Resize volume succeeded") in told(served, "data")


def test_file_system_grows_once_a_pod_mounts_it(served: Served) -> None:
    disks = storage_class("disks", seconds=0)
    served.cluster.create("storageclasses", disks | {"parameters": {NODE_EXPANDS: "true"}})
    served.post(CLAIMS, claim(wants="disks"))
    served.pass_time(10)
    larger = {"spec": {"resources": {"requests": {"storage": "200Gi"}}}}
    served.patch(f"{CLAIMS}/data", larger)
    served.pass_time(60)
    assert found(served)["status"]["capacity"] == {"storage": "100Gi"}
    assert conditions(found(served))["FileSystemResizePending"][0] == "True"
    served.post(PODS, user("one"))
    served.pass_time(10)
    assert found(served)["status"]["capacity"] == {"storage": "200Gi"}
    assert "conditions" not in found(served)["status"]


def test_claim_does_not_grow_where_forbidden(served: Served) -> None:
    offers(served, grows=False, seconds=0)
    served.post(CLAIMS, claim())
    larger = {"spec": {"resources": {"requests": {"storage": "200Gi"}}}}
    assert refusal(served.patch(f"{CLAIMS}/data", larger)) == (
        403,
        "Forbidden",
        (
            'persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can be '
            "resized and the storageclass that provisions the pvc must support resize"
        ),
    )


@pytest.mark.parametrize("change", [{"accessModes": ["ReadWriteOnce"]}, {"storageClassName": "x"}])
def test_what_a_claim_is_stays_fixed(served: Served, change: Object) -> None:
    served.post(CLAIMS, claim(wants="standard"))
    answer = served.patch(f"{CLAIMS}/data", {"spec": change}, MERGE)
    assert refusal(answer) == (
        422,
        "Invalid",
        (
            'PersistentVolumeClaim "data" is invalid: spec: Forbidden: spec is immutable after '
            "creation except resources.requests and volumeAttributesClassName for bound claims"
        ),
    )


def test_bound_claim_does_not_shrink(served: Served) -> None:
    served.post(CLAIMS, claim(wants="standard"))
    smaller = {"spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    assert refusal(served.patch(f"{CLAIMS}/data", smaller))[2] == (
        'PersistentVolumeClaim "data" is invalid: spec.resources.requests.storage: Forbidden: '
        "field can not be less than status.capacity"
    )


def test_claim_without_size_is_refused(served: Served) -> None:
    body = claim()
    body["spec"]["resources"] = {}
    assert refusal(served.admin.post(CLAIMS, json=body))[2] == (
        'PersistentVolumeClaim "data" is invalid: spec.resources[storage]: Required value'
    )


def test_storage_class_is_fixed_once_made(served: Served) -> None:
    path = "/apis/storage.k8s.io/v1/storageclasses/standard"
    assert refusal(served.patch(path, {"reclaimPolicy": "Retain"}))[2] == (
        'StorageClass.storage.k8s.io "standard" is invalid: reclaimPolicy: Invalid value: '
        '"Retain": field is immutable'
    )


def test_provisioner_fails_and_is_mended(served: Served) -> None:
    offers(served)
    served.cluster.nature.break_provisioner("fast", "rpc error: code = ResourceExhausted")
    served.post(CLAIMS, claim())
    served.pass_time(10)
    why = (
        "ProvisioningFailed",
        'failed to provision volume with StorageClass "fast": rpc error: code = ResourceExhausted',
    )
    assert why in told(served, "data")
    served.cluster.nature.mend_provisioner("fast")
    assert found(served)["status"]["phase"] == "Bound"


def test_failing_mount_holds_a_pod(served: Served) -> None:
    served.post(CLAIMS, claim(wants="standard"))
    served.cluster.nature.break_mount("data", "mount failed: exit status 32")
    served.post(PODS, user("one"))
    served.pass_time(30)
    volume = found(served)["spec"]["volumeName"]
    words = f'MountVolume.SetUp failed for volume "{volume}" : mount failed: exit status 32'
    assert ("FailedMount", words) in told(served, "one")
    served.cluster.nature.mend_mount("data")
    served.pass_time(5)
    assert served.get(f"{PODS}/one")["status"]["phase"] == "Running"


def test_unknown_access_mode_is_refused(served: Served) -> None:
    body = claim(mode="ReadWriteAlways")
    assert refusal(served.admin.post(CLAIMS, json=body))[2] == (
        'PersistentVolumeClaim "data" is invalid: spec.accessModes: Unsupported value: '
        '"ReadWriteAlways": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", '
        '"ReadWriteOncePod"'
    )
