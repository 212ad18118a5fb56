"""What the policies of deploy/ let the bot's account do to objects that belong to no namespace."""

import secrets
from collections.abc import Iterator

import pytest

from bot.cluster import labels
from tests.cluster.api import Api, ApiError, Object, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.rights import deploy
from tests.cluster.site import Site

VOLUMES = "persistentvolumes"
CONTENTS = "volumesnapshotcontents.snapshot.storage.k8s.io"
OURS = {labels.MANAGED_BY: labels.MANAGER, labels.INSTALLATION: "one"}
CSI: Object = {"csi": {"driver": "csi.example.com", "volumeHandle": "h"}}


@pytest.fixture
def bot(plane: ControlPlane) -> Iterator[Api]:
    """The API as the bot's service account has it; the plane's policies are in force."""
    deploy(plane.api, "17-datasets.yaml")
    with Api.to(plane.bot_kubeconfig) as api:
        probe = volume({}, CSI)
        wait_for(lambda: "own labels" in refusal(api, VOLUMES, probe), "the policy of volumes")
        yield api


def volume(marks: dict[str, str], source: Object, **spec: object) -> Object:
    return {
        "metadata": {"name": f"volume-{secrets.token_hex(4)}", "labels": marks},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadOnlyMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "claimRef": {"namespace": "team-a", "name": "cache"},
            **source,
            **spec,
        },
    }


def content(marks: dict[str, str], **spec: object) -> Object:
    return {
        "metadata": {"name": f"content-{secrets.token_hex(4)}", "labels": marks},
        "spec": {
            "driver": "csi.example.com",
            "deletionPolicy": "Retain",
            "source": {"snapshotHandle": "h"},
            "volumeSnapshotRef": {"namespace": "datasets", "name": "push"},
            **spec,
        },
    }


def refusal(api: Api, resource: str, body: Object) -> str:
    """What the API server says to a new object, nothing when it takes it; nothing is made."""
    try:
        api.create(resource, body, dryRun="All")
    except ApiError as error:
        return str(error.body["message"])
    return ""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (volume(OURS, CSI), ""),
        (volume(OURS, {"nfs": {"server": "10.0.0.1", "path": "/x"}}), ""),
        (volume({}, CSI), "Quartermaster may only write PersistentVolumes that carry its own"),
        (volume({labels.INSTALLATION: "one"}, CSI), "that carry its own labels"),
        (volume(OURS, {"hostPath": {"path": "/"}}), "of CSI drivers and NFS exports"),
        (volume(OURS, CSI, persistentVolumeReclaimPolicy="Delete"), "that are retained"),
        (volume(OURS, CSI, claimRef=None), "bound to one PVC"),
    ],
    ids=["csi", "nfs", "unlabelled", "half-labelled", "host-path", "deleting", "for-anyone"],
)
def test_the_bot_makes_its_own_volumes_alone(bot: Api, body: Object, message: str) -> None:
    told = refusal(bot, VOLUMES, body)
    assert message in told
    assert bool(told) == bool(message)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (content(OURS), ""),
        (content({}), "Quartermaster may only write VolumeSnapshotContents that carry its own"),
        (content(OURS, deletionPolicy="Delete"), "that leave the driver's snapshot in place"),
    ],
    ids=["ours", "unlabelled", "deleting"],
)
def test_the_bot_makes_its_own_contents_alone(bot: Api, body: Object, message: str) -> None:
    told = refusal(bot, CONTENTS, body)
    assert message in told
    assert bool(told) == bool(message)


@pytest.mark.parametrize(
    ("resource", "body", "foreign"),
    [(VOLUMES, volume(OURS, CSI), volume({}, CSI)), (CONTENTS, content(OURS), content({}))],
    ids=["volumes", "contents"],
)
def test_the_bot_deletes_its_own_alone(
    bot: Api, site: Site, plane: ControlPlane, resource: str, body: Object, foreign: Object
) -> None:
    for each in (body, foreign):
        site.add(resource, each)
    bot.delete(resource, body["metadata"]["name"])
    with pytest.raises(ApiError) as refused:
        bot.delete(resource, foreign["metadata"]["name"])
    assert "may only change and delete" in refused.value.body["message"]
    found = plane.api.get(resource, foreign["metadata"]["name"])
    assert found is not None
    assert "deletionTimestamp" not in found["metadata"]
