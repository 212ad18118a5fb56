"""Plans a repair from the current state of Azure, the PV and Trident."""

import msgspec

from bot.cluster.cluster import Cluster
from bot.cluster.resources import DEPLOYMENTS
from bot.config import Anf
from bot.errors import ClusterError, ConflictError, UsageError
from bot.volumes.anf import NetAppFiles
from bot.volumes.deadline import DEADLINE_SECONDS, Deadline
from bot.volumes.matching import Claimed, match, refuse_unread
from bot.volumes.moves import Record, Records


class RepairPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a repair would write. It is also the value of the button that requests it."""

    team: str = msgspec.field(name="t")
    cluster: str = msgspec.field(name="c")
    claim: str = msgspec.field(name="p")
    volume_name: str = msgspec.field(name="v")
    old_id: str = msgspec.field(name="o")
    new_id: str = msgspec.field(name="n")


# msgspec inspects a class on first use; a thread that uses it meanwhile would crash.
_DECODER = msgspec.json.Decoder(RepairPlan)


def written(plan: RepairPlan) -> str:
    """The value of a button."""
    return msgspec.json.encode(plan).decode()


def read(value: str) -> RepairPlan:
    """Decodes the value of a button; raises UsageError if its format is outdated."""
    try:
        return _DECODER.decode(value)
    except msgspec.MsgspecError:
        raise UsageError(
            "This button is out of date.", "Request it again: `/anf repair PVC`."
        ) from None


def plan_repair(files: NetAppFiles, cluster: Cluster, team: str, of: Claimed) -> RepairPlan:
    """What a repair of a PVC would write; raises ConflictError if there is nothing to repair."""
    anf, name = files.configured, of.claim.name
    if not of.named.id:
        raise ConflictError(
            f"Trident did not create the volume of PVC {name}, and keeps no record of it.",
            "Such volumes need no repair.",
        )
    estate = files.estate(Deadline(DEADLINE_SECONDS))
    refuse_unread(of.named, estate)
    found = match(of.named, estate.volumes)
    if found is None:
        raise ConflictError(
            f"The bot cannot see the volume of PVC {name} in Azure.",
            "Check `/anf volumes`.",
        )
    if not found.is_moved:
        raise ConflictError(
            f"The volume of PVC {name} is where its PV says. There is nothing to repair."
        )
    old_id = _stale_id(cluster, anf, of, found.volume.id)
    return RepairPlan(
        team=team,
        cluster=cluster.name,
        claim=name,
        volume_name=of.volume.name,
        old_id=old_id,
        new_id=found.volume.id,
    )


def _stale_id(cluster: Cluster, anf: Anf, of: Claimed, new_id: str) -> str:
    """The id in Trident's record; raises ConflictError if it needs no repair or cannot have one."""
    name = of.claim.name
    record = Records(cluster, anf.trident_namespace).of(of.volume.name)
    _refuse(record, of, anf)
    if not record.is_stale(new_id):
        raise ConflictError(
            f"Trident's record of PVC {name} is correct. There is nothing to repair.",
            "If Trident has not restarted since that was written, restart it:"
            f" `kubectl -n {anf.trident_namespace} rollout restart"
            f" deployment/{anf.trident_deployment}`.",
        )
    if cluster.get(DEPLOYMENTS, anf.trident_deployment, anf.trident_namespace) is None:
        raise ClusterError(
            f"There is no Deployment {anf.trident_deployment} in namespace"
            f" {anf.trident_namespace} on cluster {cluster.name}.",
            "A platform admin has to set anf.trident_deployment and anf.trident_namespace.",
        )
    return record.id


def _refuse(record: Record, of: Claimed, anf: Anf) -> None:
    if record.source:
        raise ConflictError(
            f"PVC {of.claim.name} only shares the volume of PV {record.source}.",
            "Repair the PVC of that PV.",
        )
    if record.unread:
        raise ClusterError(
            record.unread,
            f"The bot has to read and patch TridentVolumes in namespace {anf.trident_namespace}:"
            " deploy/kubernetes/18-trident.yaml.",
        )
