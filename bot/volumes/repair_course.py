"""What to do next for a repair. Pure: no I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.cluster.objects import find_condition
from bot.cluster.services import Deployment
from bot.cluster.trident import TridentVolume
from bot.volumes.repair_tables import Phase, Repair
from bot.volumes.resources import same_id

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
# Trident's controller is there again within a minute or two.
_BACK_WITHIN = timedelta(minutes=15)
_MOST_ROUNDS = 3
NOTHING = "Nothing was changed."
_AGAIN = "Ask again: `/anf repair PVC` shows it anew."


@dataclass(frozen=True)
class Seen:
    """What there is: Trident's record, its Deployment, and whether all else is as it was shown.

    `astray` says what is not, as a sentence.
    """

    record: TridentVolume | None = None
    deployment: Deployment | None = None
    astray: str = ""


@dataclass(frozen=True)
class WriteRecord:
    """Write the new id into the record, unless anybody changes it meanwhile."""

    version: str


@dataclass(frozen=True)
class Restart:
    """Have the controller's pods started anew."""


@dataclass(frozen=True)
class Enter:
    """Nothing is to be done for this phase any more."""

    phase: Phase


@dataclass(frozen=True)
class Wait:
    """Look again soon."""


@dataclass(frozen=True)
class Fail:
    """It cannot be done: why, what stands, and what to do."""

    reason: str
    stands: str
    unblock: str = ""


Move = WriteRecord | Restart | Enter | Wait | Fail


def decide(row: Repair, seen: Seen, now: datetime) -> Move:
    """The next step of a repair that was approved."""
    match row.phase:
        case Phase.PATCHING:
            return _record(row, seen)
        case Phase.RESTARTING:
            return _restart(row, seen)
        case Phase.ROLLING:
            return _rollout(row, seen, now)
        case _:
            return _check(row, seen)


def stands_of(row: Repair) -> str:
    """What is so when it ends in this phase."""
    record = f"TridentVolume {row.volume_name} names where the volume is"
    match row.phase:
        case Phase.ASKED:
            return NOTHING
        case Phase.PATCHING:
            return NOTHING if row.rounds == 0 else "Trident was started anew, and nothing else."
        case Phase.RESTARTING:
            return (
                f"{record}, but Trident was not started anew, and goes on with what it knew."
                f" Start it: `{_kubectl(row)} rollout restart deployment/{row.deployment}`."
            )
        case _:
            return f"{record}, and Trident's controller was told to start anew."


def _record(row: Repair, seen: Seen) -> Move:
    stands = stands_of(row)
    if seen.astray:
        return Fail(seen.astray, stands, _AGAIN)
    if seen.record is None:
        missing = f"There is no TridentVolume {row.volume_name} any more."
        return Fail(missing, stands, _AGAIN)
    known = seen.record.config.internal_id
    if same_id(known, row.new_id):
        return Enter(Phase.RESTARTING)
    if not same_id(known, row.old_id):
        return Fail(f"Somebody has written another id into Trident's record: {known or 'none'}.",
                    stands, _AGAIN)  # fmt: skip
    if row.rounds >= _MOST_ROUNDS:
        return Fail(
            f"Trident wrote the old id back {_MOST_ROUNDS} times.",
            stands,
            "Look at its log, and who else starts or writes it; then ask again.",
        )
    return WriteRecord(seen.record.metadata.resource_version)


def _restart(row: Repair, seen: Seen) -> Move:
    if seen.deployment is None:
        return _gone(row)
    mark = seen.deployment.spec.template.metadata.annotations.get(RESTARTED_AT, "")
    return Enter(Phase.ROLLING) if _is_at_least(mark, row.restart_at) else Restart()


def _rollout(row: Repair, seen: Seen, now: datetime) -> Move:
    deployment = seen.deployment
    if deployment is None:
        return _gone(row)
    if deployment.is_rolled_out:
        return Enter(Phase.CHECKING)
    progress = find_condition(deployment.status.conditions, "Progressing")
    is_told = deployment.status.observed_generation >= deployment.metadata.generation
    is_stuck = is_told and progress is not None and progress.reason == "ProgressDeadlineExceeded"
    if is_stuck or now - row.since > _BACK_WITHIN:
        why = f" {progress.message}" if progress is not None and progress.message else ""
        return Fail(
            f"Trident's controller does not come back.{why}",
            f"{stands_of(row)} Until it is back nothing is mounted or made on Trident.",
            f"Look at once: `{_kubectl(row)} describe deployment/{row.deployment}`;"
            f" `{_kubectl(row)} rollout undo deployment/{row.deployment}` takes the restart back.",
        )
    return Wait()


def _check(row: Repair, seen: Seen) -> Move:
    if seen.astray:
        return Fail(seen.astray, stands_of(row), _AGAIN)
    if seen.record is None:
        return Fail(
            f"There is no TridentVolume {row.volume_name} any more.", stands_of(row), _AGAIN
        )
    is_right = same_id(seen.record.config.internal_id, row.new_id)
    return Enter(Phase.DONE) if is_right else Enter(Phase.PATCHING)


def _gone(row: Repair) -> Fail:
    return Fail(
        f"There is no Deployment {row.deployment} in namespace {row.trident_namespace} any more.",
        stands_of(row),
        "A platform admin sets anf.trident_deployment, and starts Trident's controller anew.",
    )


def _is_at_least(mark: str, moment: datetime | None) -> bool:
    """Whether pods are marked as started then or later."""
    try:
        return moment is not None and datetime.fromisoformat(mark) >= moment
    except (TypeError, ValueError):
        return False


def _kubectl(row: Repair) -> str:
    return f"kubectl -n {row.trident_namespace}"
