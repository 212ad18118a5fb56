"""Decides the next step for a repair. Pure: no I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.cluster.types.objects import find_condition
from bot.cluster.types.services import Deployment
from bot.cluster.types.trident import TridentVolume
from bot.volumes.repairs.tables import Repair, RepairPhase
from bot.volumes.resources import same_id

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
# Trident's controller restarts within a minute or two.
_BACK_WITHIN = timedelta(minutes=15)
_MOST_ROUNDS = 3
NOTHING = "Nothing was changed."
_AGAIN = "Request it again: `/anf repair PVC` shows the current state."


@dataclass(frozen=True)
class RepairObserved:
    """The state of a repair: Trident's record, its Deployment, and what else has changed.

    `astray` says what has changed since the approval, as a sentence.
    """

    record: TridentVolume | None = None
    deployment: Deployment | None = None
    astray: str = ""


@dataclass(frozen=True)
class WriteRecord:
    """Write the new id into the record, unless the record has changed since the read."""

    version: str


@dataclass(frozen=True)
class Restart:
    """Restart the pods of Trident's controller."""


@dataclass(frozen=True)
class Enter:
    """The phase is done: enter the next one."""

    phase: RepairPhase


@dataclass(frozen=True)
class CheckAgain:
    """Check again soon."""


@dataclass(frozen=True)
class Fail:
    """The repair fails: the reason, the state it leaves, and what to do."""

    reason: str
    stands: str
    unblock: str = ""


Decision = WriteRecord | Restart | Enter | CheckAgain | Fail


def decide(row: Repair, seen: RepairObserved, now: datetime) -> Decision:
    """The next step of a repair that was approved."""
    match row.phase:
        case RepairPhase.PATCHING:
            return _record(row, seen)
        case RepairPhase.RESTARTING:
            return _restart(row, seen)
        case RepairPhase.ROLLING:
            return _rollout(row, seen, now)
        case _:
            return _check(row, seen)


def stands_of(row: Repair) -> str:
    """The state that a repair leaves if it ends in this phase, as a sentence."""
    record = f"TridentVolume {row.volume_name} has the new id of the volume"
    match row.phase:
        case RepairPhase.ASKED:
            return NOTHING
        case RepairPhase.PATCHING:
            return (
                NOTHING if row.rounds == 0 else "Trident was restarted. Nothing else was changed."
            )
        case RepairPhase.RESTARTING:
            return (
                f"{record}, but Trident was not restarted and still uses the old id."
                f" Restart it: `{_kubectl(row)} rollout restart deployment/{row.deployment}`."
            )
        case _:
            return f"{record}, and a restart of Trident's controller was requested."


def _record(row: Repair, seen: RepairObserved) -> Decision:
    stands = stands_of(row)
    if seen.astray:
        return Fail(seen.astray, stands, _AGAIN)
    if seen.record is None:
        missing = f"TridentVolume {row.volume_name} no longer exists."
        return Fail(missing, stands, _AGAIN)
    known = seen.record.config.internal_id
    if same_id(known, row.new_id):
        return Enter(RepairPhase.RESTARTING)
    if not same_id(known, row.old_id):
        return Fail(f"Trident's record was changed outside Quartermaster to id {known or 'none'}.",
                    stands, _AGAIN)  # fmt: skip
    if row.rounds >= _MOST_ROUNDS:
        return Fail(
            f"Trident wrote the old id back {_MOST_ROUNDS} times.",
            stands,
            "Check its log, and what else restarts or writes it. Then request it again.",
        )
    return WriteRecord(seen.record.metadata.resource_version)


def _restart(row: Repair, seen: RepairObserved) -> Decision:
    if seen.deployment is None:
        return _gone(row)
    mark = seen.deployment.spec.template.metadata.annotations.get(RESTARTED_AT, "")
    return Enter(RepairPhase.ROLLING) if _is_at_least(mark, row.restart_at) else Restart()


def _rollout(row: Repair, seen: RepairObserved, now: datetime) -> Decision:
    deployment = seen.deployment
    if deployment is None:
        return _gone(row)
    if deployment.is_rolled_out:
        return Enter(RepairPhase.CHECKING)
    progress = find_condition(deployment.status.conditions, "Progressing")
    is_told = deployment.status.observed_generation >= deployment.metadata.generation
    is_stuck = is_told and progress is not None and progress.reason == "ProgressDeadlineExceeded"
    if is_stuck or now - row.since > _BACK_WITHIN:
        why = f" {progress.message}" if progress is not None and progress.message else ""
        return Fail(
            f"Trident's controller did not become ready.{why}",
            f"{stands_of(row)} Until it is ready, no Trident volume is mounted or created.",
            f"Check it now: `{_kubectl(row)} describe deployment/{row.deployment}`."
            f" To undo the restart: `{_kubectl(row)} rollout undo deployment/{row.deployment}`.",
        )
    return CheckAgain()


def _check(row: Repair, seen: RepairObserved) -> Decision:
    if seen.astray:
        return Fail(seen.astray, stands_of(row), _AGAIN)
    if seen.record is None:
        return Fail(f"TridentVolume {row.volume_name} no longer exists.", stands_of(row), _AGAIN)
    is_right = same_id(seen.record.config.internal_id, row.new_id)
    return Enter(RepairPhase.DONE) if is_right else Enter(RepairPhase.PATCHING)


def _gone(row: Repair) -> Fail:
    return Fail(
        f"Deployment {row.deployment} no longer exists in namespace {row.trident_namespace}.",
        stands_of(row),
        "A platform admin has to set anf.trident_deployment and restart Trident's controller.",
    )


def _is_at_least(mark: str, moment: datetime | None) -> bool:
    """Whether the restart annotation is of that time or later."""
    try:
        return moment is not None and datetime.fromisoformat(mark) >= moment
    except (TypeError, ValueError):
        return False


def _kubectl(row: Repair) -> str:
    return f"kubectl -n {row.trident_namespace}"
