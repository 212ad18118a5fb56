"""What can be changed: pools and volumes, at once or by an operation."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from playground.arm import rules
from playground.arm.errors import ArmError, bad, busy, missing
from playground.arm.estate import RATES, Account, Estate, Pool, Volume
from playground.arm.operations import Operation, Operations
from playground.arm.shapes import pool_json, volume_json

Json = dict[str, Any]


class Changes:
    """The verbs that change an estate; each refuses before it begins anything."""

    def __init__(self, estate: Estate, operations: Operations, now: Callable[[], datetime]) -> None:
        self._estate = estate
        self._operations = operations
        self._now = now

    def put_pool(self, account: Account, name: str, body: Json) -> tuple[Operation | None, Pool]:
        """Begins to make a pool, or sets the size and tags of one that is there."""
        asked = body.get("properties") or {}
        rules.refuse_location(account, body.get("location"))
        level, qos = asked.get("serviceLevel"), asked.get("qosType", "Auto")
        custom = asked.get("customThroughputMibps")
        rules.refuse_pool_shape(level, qos, custom)
        there = [e for e in self._estate.pools_of(account) if e.name.lower() == name.lower()]
        if there:
            rules.refuse_busy_pool(there[0])
            if there[0].level != level:
                raise bad("serviceLevel of a pool cannot be changed.")
            self._checked(there[0], {"size": asked.get("size")})()
            there[0].tags = dict(body.get("tags") or {})
            return None, there[0]
        rules.refuse_pool_name(name)
        rules.refuse_pool_size(self._estate, None, asked.get("size"))
        rules.refuse_more_pools(self._estate, account, asked["size"])
        made = self._estate.add_pool(account, name, str(level), 1)
        made.size, made.qos, made.custom_throughput = asked["size"], qos, custom
        made.tags, made.busy = dict(body.get("tags") or {}), "Creating"
        return self._begin_pool(made, made.busy, lambda: None), made

    def delete_pool(self, pool: Pool) -> Operation:
        """Removes a pool that has no volumes."""
        rules.refuse_busy_pool(pool)
        if any(self._estate.volumes_of(pool)):
            path = self._estate.pool_id(pool)
            words = f"Cannot delete resource while nested resources exist: '{path}' has volumes."
            raise ArmError(409, "CannotDeleteResource", words)
        return self._begin_pool(pool, "Deleting", lambda: self._estate.pools.remove(pool))

    def _begin_pool(self, pool: Pool, word: str, finish: Callable[[], None]) -> Operation:
        def done() -> None:
            pool.busy, pool.has_failed = "", False
            finish()

        def give_up() -> None:
            pool.busy, pool.has_failed = "", pool.has_failed or word == "Creating"

        pool.busy = word
        about = (word, self._estate.pool_id(pool))
        return self._operations.begin(about, done, give_up, lambda: pool_json(self._estate, pool))

    def patch_pool(self, pool: Pool, body: Json) -> Operation:
        """Sets its size, or its QoS, which becomes manual and never automatic again."""
        rules.refuse_busy_pool(pool)
        return self._begin_pool(pool, "Updating", self._checked(pool, body.get("properties") or {}))

    def _checked(self, pool: Pool, asked: Json) -> Callable[[], None]:
        """What changes a pool; ArmError where it cannot be so."""
        unknown = asked.keys() - {"size", "qosType", "coolAccess", "customThroughputMibps"}
        if unknown:
            raise bad(f"{', '.join(sorted(unknown))} of a pool cannot be changed.")
        size, qos = asked.get("size", pool.size), asked.get("qosType", pool.qos)
        custom = asked.get("customThroughputMibps", pool.custom_throughput)
        rules.refuse_pool_size(self._estate, pool, size)
        rules.refuse_pool_shape(pool.level, qos, custom)
        if (pool.qos, qos) == ("Manual", "Auto"):
            raise bad("qosType of a pool cannot be changed from Manual to Auto.")

        def finish() -> None:
            if qos != pool.qos:
                for each in self._estate.volumes_of(pool):
                    each.own_throughput = each.throughput
            pool.size, pool.qos, pool.custom_throughput = size, qos, custom

        return finish

    def patch_volume(self, volume: Volume, body: Json) -> Operation:
        """Sets its size or its throughput; its id stays."""
        asked = body.get("properties") or {}
        if volume.busy:
            raise busy(f"volume {volume.name}")
        if "serviceLevel" in asked and asked["serviceLevel"] != volume.pool.level:
            raise bad("serviceLevel can only be changed by moving the volume to another pool.")
        quota, wanted = asked.get("usageThreshold"), asked.get("throughputMibps")
        if quota is not None:
            rules.refuse_quota(self._estate, volume, quota)
        if wanted is not None:
            rules.refuse_throughput(self._estate, volume, wanted)

        def finish() -> None:
            volume.quota = quota or volume.quota
            volume.own_throughput = wanted or volume.own_throughput

        return self._begin(volume, "Patching", finish)

    def move(self, volume: Volume, body: Json) -> Operation:
        """Moves it to another pool, where it has another id."""
        target = self._pool_named(body.get("newPoolResourceId"))
        now, source = self._now(), volume.pool
        rules.refuse_move(self._estate, volume, target, now)

        def finish() -> None:
            if RATES[target.level] > RATES[source.level]:
                volume.raised_at = now
            volume.own_throughput, volume.pool = volume.throughput, target

        return self._begin(volume, "Moving", finish)

    def revert(self, volume: Volume, body: Json) -> Operation:
        """Takes it back to a snapshot; later snapshots go."""
        if volume.busy:
            raise busy(f"volume {volume.name}")
        wanted = str(body.get("snapshotId") or "")
        beginning = f"{self._estate.volume_id(volume)}/snapshots/"
        name = wanted.rpartition("/")[2]
        if wanted.lower() != f"{beginning}{name}".lower() or name not in volume.snapshots:
            raise missing("netAppAccounts/capacityPools/volumes/snapshots", name)

        def finish() -> None:
            kept = volume.snapshots[name].made_at
            volume.snapshots = {
                key: each for key, each in volume.snapshots.items() if each.made_at <= kept
            }

        return self._begin(volume, "Reverting", finish)

    def delete_volume(self, volume: Volume) -> Operation:
        """Removes it with all that is in it."""
        if volume.busy:
            raise busy(f"volume {volume.name}")
        return self._begin(volume, "Deleting", lambda: self._estate.volumes.remove(volume))

    def _begin(self, volume: Volume, word: str, finish: Callable[[], None]) -> Operation:
        def done() -> None:
            volume.busy = ""
            finish()

        def give_up() -> None:
            volume.busy = ""

        volume.busy = word
        about = (word, self._estate.volume_id(volume))
        return self._operations.begin(
            about, done, give_up, lambda: volume_json(self._estate, volume)
        )

    def _pool_named(self, resource: Any) -> Pool:
        for each in self._estate.pools:
            if str(resource).lower() == self._estate.pool_id(each).lower():
                return each
        raise ArmError(404, "ResourceNotFound", f"The Resource '{resource}' was not found.")
