"""The rights, and the roles and channels that each of them needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Right(StrEnum):
    """What a person may be allowed to do."""

    RUN_SUBMIT = "run.submit"
    RUN_SUBMIT_COSTLY = "run.submit_costly"
    RUN_READ = "run.read"
    RUN_STOP = "run.stop"
    RUN_STOP_ANY = "run.stop_any"
    GPU_READ = "gpu.read"
    QUOTA_READ = "quota.read"
    QUOTA_REQUEST = "quota.request"
    QUOTA_REVOKE_ANY = "quota.revoke_any"
    QUOTA_SET = "quota.set"
    TEAM_READ = "team.read"
    TEAM_CHANGE = "team.change"
    DATASET_READ = "dataset.read"
    DATASET_ADD = "dataset.add"
    DATASET_VERSION = "dataset.version"
    DATASET_REMOVE = "dataset.remove"
    DATASET_REMOVE_ANY = "dataset.remove_any"
    DATASET_CACHE = "dataset.cache"
    DATASET_PUSH = "dataset.push"
    DATASET_EVICT = "dataset.evict"
    DATASET_PIN = "dataset.pin"
    DATASET_UNPIN_ANY = "dataset.unpin_any"
    DATASET_USAGE = "dataset.usage"
    DATASET_CLEAN = "dataset.clean"
    PVC_READ = "pvc.read"
    PVC_RESIZE = "pvc.resize"
    PVC_COPY = "pvc.copy"
    PVC_DELETE = "pvc.delete"
    ANF_READ = "anf.read"
    ANF_POOLS = "anf.pools"
    ANF_CHANGE = "anf.change"
    ANF_REPAIR = "anf.repair"
    ANF_POOL_CHANGE = "anf.pool_change"
    SNAPSHOT_READ = "snapshot.read"
    SNAPSHOT_CREATE = "snapshot.create"
    SNAPSHOT_RESTORE = "snapshot.restore"
    SNAPSHOT_DELETE_ANY = "snapshot.delete_any"
    GPU_DIGEST = "gpu.digest"
    GPU_DIGEST_POST = "gpu.digest_post"
    GPU_DIGEST_SET = "gpu.digest_set"
    DECIDE = "decide"
    VOTE = "vote"
    NOTICES = "notices"
    BREAK_GLASS = "break_glass"
    WHOAMI = "whoami"
    STATUS = "status"
    AUDIT_READ = "audit.read"


class Role(StrEnum):
    """A person's role, in a team or in all."""

    MEMBER = "member"
    LEAD = "lead"
    ADMIN = "admin"
    APPROVER = "approver"


class ChannelPlace(StrEnum):
    """The kind of a channel."""

    TEAM = "team"
    APPROVALS = "approvals"
    DIRECT = "direct"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True)
class Rule:
    """The roles that have a right (None: every full member), and where it can be used."""

    roles: frozenset[Role] | None
    places: frozenset[ChannelPlace]


EVERYBODY = frozenset({Role.MEMBER, Role.LEAD, Role.ADMIN})
_HEADS = frozenset({Role.LEAD, Role.ADMIN})
_TEAM_OR_DIRECT = frozenset({ChannelPlace.TEAM, ChannelPlace.DIRECT})
_READING = frozenset({ChannelPlace.TEAM, ChannelPlace.DIRECT, ChannelPlace.APPROVALS})

RULES: Mapping[Right, Rule] = {
    Right.RUN_SUBMIT: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.RUN_SUBMIT_COSTLY: Rule(_HEADS, _TEAM_OR_DIRECT),
    Right.RUN_READ: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.RUN_STOP: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.RUN_STOP_ANY: Rule(_HEADS, _TEAM_OR_DIRECT),
    Right.GPU_READ: Rule(EVERYBODY | {Role.APPROVER}, _READING),
    Right.QUOTA_READ: Rule(EVERYBODY | {Role.APPROVER}, _READING),
    Right.QUOTA_REQUEST: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.QUOTA_REVOKE_ANY: Rule(_HEADS, _READING),
    Right.QUOTA_SET: Rule(frozenset({Role.ADMIN}), _READING),
    Right.TEAM_READ: Rule(EVERYBODY | {Role.APPROVER}, _READING),
    Right.TEAM_CHANGE: Rule(frozenset({Role.ADMIN}), _READING),
    Right.DATASET_READ: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.DATASET_ADD: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.DATASET_VERSION: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.DATASET_REMOVE: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.DATASET_REMOVE_ANY: Rule(_HEADS, _TEAM_OR_DIRECT),
    Right.DATASET_CACHE: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.DATASET_PUSH: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.DATASET_EVICT: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.DATASET_PIN: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.DATASET_UNPIN_ANY: Rule(_HEADS, _TEAM_OR_DIRECT),
    Right.DATASET_USAGE: Rule(EVERYBODY | {Role.APPROVER}, _READING),
    Right.DATASET_CLEAN: Rule(frozenset({Role.ADMIN}), _READING),
    Right.PVC_READ: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.PVC_RESIZE: Rule(_HEADS, _TEAM_OR_DIRECT),
    Right.PVC_COPY: Rule(_HEADS, _TEAM_OR_DIRECT),
    Right.PVC_DELETE: Rule(_HEADS, _TEAM_OR_DIRECT),
    Right.ANF_READ: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    # Pools are shared: their contents and costs are shown only to those responsible for them.
    Right.ANF_POOLS: Rule(_HEADS | {Role.APPROVER}, _READING),
    Right.ANF_CHANGE: Rule(_HEADS, _TEAM_OR_DIRECT),
    Right.ANF_REPAIR: Rule(frozenset({Role.ADMIN}), _READING),
    Right.ANF_POOL_CHANGE: Rule(frozenset({Role.ADMIN}), _READING),
    Right.SNAPSHOT_READ: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.SNAPSHOT_CREATE: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.SNAPSHOT_RESTORE: Rule(EVERYBODY, _TEAM_OR_DIRECT),
    Right.SNAPSHOT_DELETE_ANY: Rule(_HEADS, _TEAM_OR_DIRECT),
    # A channel of no team has digests too; there only admins and approvers have a role.
    Right.GPU_DIGEST: Rule(EVERYBODY | {Role.APPROVER}, frozenset(ChannelPlace)),
    Right.GPU_DIGEST_POST: Rule(_HEADS, frozenset(ChannelPlace)),
    Right.GPU_DIGEST_SET: Rule(frozenset({Role.ADMIN}), frozenset(ChannelPlace)),
    Right.DECIDE: Rule(frozenset({Role.APPROVER}), frozenset(ChannelPlace)),
    # Each request's policy decides who may vote; a click by another person is rejected there.
    Right.VOTE: Rule(None, frozenset(ChannelPlace)),
    # Each person chooses only for themselves.
    Right.NOTICES: Rule(None, frozenset(ChannelPlace)),
    Right.BREAK_GLASS: Rule(frozenset({Role.ADMIN}), _READING),
    Right.WHOAMI: Rule(None, frozenset(ChannelPlace)),
    Right.STATUS: Rule(EVERYBODY | {Role.APPROVER}, frozenset(ChannelPlace)),
    Right.AUDIT_READ: Rule(_HEADS, _READING),
}
