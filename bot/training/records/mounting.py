"""Finds the runs of a team that mount a PVC: those that wait or run, and those that ended last."""

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from bot.training.kinds.pods.volumes import mounts_of, root_of
from bot.training.spec import asked_spec
from bot.training.tables import Run
from bot.training.wording import state_words
from bot.volumes.records import ClaimPlace

_SEARCHED = 100


@dataclass(frozen=True)
class MountingRun:
    """A run that mounts a PVC; `state` is its status in words, such as `Running for 2h`."""

    reference: str
    state: str
    is_read_only: bool


def runs_mounting(
    session: Session, team: str, place: ClaimPlace, now: datetime
) -> list[MountingRun]:
    """The team's runs that name a PVC, or for which it was created, the newest first.

    Only its newest 100 live runs and the 100 that ended last are searched.
    """
    live = select(Run).where(col(Run.team) == team, col(Run.ended_at).is_(None))
    over = select(Run).where(col(Run.team) == team, col(Run.ended_at).is_not(None))
    runs: Sequence[Run] = [
        *session.exec(live.order_by(col(Run.id).desc()).limit(_SEARCHED)),
        *session.exec(over.order_by(col(Run.ended_at).desc()).limit(_SEARCHED)),
    ]
    found = ((run, _is_read_only(run, place)) for run in runs)
    return [
        MountingRun(run.reference, state_words(run, now), is_read_only)
        for run, is_read_only in found
        if is_read_only is not None
    ]


def last_mounting(
    session: Session, team: str, places: Collection[ClaimPlace]
) -> dict[ClaimPlace, Run]:
    """The run that ended last of those that mounted each PVC; PVCs without one are left out.

    Only the 100 runs of the team that ended last are searched.
    """
    over = select(Run).where(col(Run.team) == team, col(Run.ended_at).is_not(None))
    found: dict[ClaimPlace, Run] = {}
    for run in session.exec(over.order_by(col(Run.ended_at).desc()).limit(_SEARCHED)):
        for place in places:
            if place not in found and _is_read_only(run, place) is not None:
                found[place] = run
    return found


def runs_needing(session: Session, cluster: str, namespace: str) -> dict[str, list[str]]:
    """The runs of a namespace that have not ended, the oldest first, by the PVCs they mount."""
    live = select(Run).where(
        col(Run.cluster) == cluster, col(Run.namespace) == namespace, col(Run.ended_at).is_(None)
    )
    found: dict[str, list[str]] = defaultdict(list)
    for run in session.exec(live.order_by(col(Run.id))):
        for claim in dict.fromkeys(
            mount.claim for mount in mounts_of(run.job_name, asked_spec(run))
        ):
            found[claim].append(run.reference)
    return dict(found)


def _is_read_only(run: Run, place: ClaimPlace) -> bool | None:
    """Whether a run mounts the PVC only for reading; None if it does not mount it."""
    if (run.cluster, run.namespace) != (place.cluster, place.namespace):
        return None
    # Few specs name it, and to read one takes longer than to search it.
    if f'"{place.name}"' not in json.dumps(run.spec) and run.job_name != root_of(place.name):
        return None
    modes = [
        mount.read_only
        for mount in mounts_of(run.job_name, asked_spec(run))
        if mount.claim == place.name
    ]
    return all(modes) if modes else None
