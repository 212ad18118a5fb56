"""How resources look on the wire."""

from typing import Any

from playground.arm.estate import Account, Estate, Pool, Snapshot, Volume

Json = dict[str, Any]
_TYPE = "Microsoft.NetApp/netAppAccounts"


def account_json(estate: Estate, account: Account) -> Json:
    """An account."""
    return {
        "id": estate.account_id(account),
        "name": account.name,
        "type": _TYPE,
        "location": account.location,
        "properties": {"provisioningState": "Succeeded"},
    }


def pool_json(estate: Estate, pool: Pool) -> Json:
    """A pool, with what its volumes use of its throughput."""
    used = sum(each.throughput for each in estate.volumes_of(pool))
    properties: Json = {
        "poolId": pool.id,
        "serviceLevel": pool.level,
        "size": pool.size,
        "qosType": pool.qos,
        "totalThroughputMibps": pool.throughput,
        "utilizedThroughputMibps": round(used, 3),
        "encryptionType": pool.encryption,
        "coolAccess": False,
        "provisioningState": pool.busy or ("Failed" if pool.has_failed else "Succeeded"),
    }
    if pool.custom_throughput is not None:
        properties["customThroughputMibps"] = pool.custom_throughput
    return {
        "id": estate.pool_id(pool),
        "name": f"{pool.account.name}/{pool.name}",
        "type": f"{_TYPE}/capacityPools",
        "location": pool.account.location,
        "tags": pool.tags,
        "properties": properties,
    }


def volume_json(estate: Estate, volume: Volume) -> Json:
    """A volume, under the id that it has now."""
    pool, file_system = volume.pool, volume.file_system
    target = {
        "mountTargetId": file_system,
        "fileSystemId": file_system,
        "ipAddress": volume.address,
    }
    properties: Json = {
        "fileSystemId": file_system,
        "serviceLevel": pool.level,
        "creationToken": volume.path,
        "usageThreshold": volume.quota,
        "protocolTypes": ["NFSv3"],
        "subnetId": f"/subscriptions/{pool.account.subscription}/resourceGroups"
        f"/{pool.account.group}/providers/Microsoft.Network/virtualNetworks/ml/subnets/anf",
        "networkFeatures": "Standard",
        "snapshotDirectoryVisible": True,
        "capacityPoolResourceId": estate.pool_id(pool),
        "mountTargets": [target],
        "throughputMibps": volume.throughput,
        "actualThroughputMibps": volume.throughput,
        "encryptionKeySource": "Microsoft.NetApp",
        "coolAccess": False,
        "provisioningState": volume.busy or "Succeeded",
    }
    if volume.used is not None:
        properties["usedBytes"] = volume.used
    return {
        "id": estate.volume_id(volume),
        "name": f"{pool.account.name}/{pool.name}/{volume.name}",
        "type": f"{_TYPE}/capacityPools/volumes",
        "location": pool.account.location,
        "tags": volume.tags,
        "properties": properties,
    }


def snapshot_json(estate: Estate, volume: Volume, snapshot: Snapshot) -> Json:
    """A snapshot of a volume."""
    pool = volume.pool
    return {
        "id": f"{estate.volume_id(volume)}/snapshots/{snapshot.name}",
        "name": f"{pool.account.name}/{pool.name}/{volume.name}/{snapshot.name}",
        "type": f"{_TYPE}/capacityPools/volumes/snapshots",
        "location": pool.account.location,
        "properties": {
            "snapshotId": snapshot.id,
            "created": snapshot.made_at.isoformat().replace("+00:00", "Z"),
            "provisioningState": "Succeeded",
        },
    }
