"""How long epochs of runs take, by the number of nodes that ran them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.training.logs.results import progress_of
from bot.training.records.spans import stretch_of
from bot.training.tables import Run, RunPhase


@dataclass(frozen=True)
class EpochTime:
    """The epochs of a run that were timed on one number of nodes, and the seconds they took."""

    epochs: int
    seconds: float


def epoch_times(run: Run) -> Mapping[int, EpochTime]:
    """What was timed of a run, by number of nodes."""
    times = run.epochs.get("times", {})
    return {int(nodes): EpochTime(*each) for nodes, each in times.items()}


# In `run.epochs`: `times` has the epochs and seconds of each number of nodes; `same` are the nodes
# and restarts of the current stretch, `done` its epochs so far, and `at` when the last one ended.


def note_epochs(run: Run, before: RunPhase, now: datetime) -> None:
    """Adds the epochs that were finished since the last look to the times of its nodes.

    An epoch counts from the end of the one before, if nodes and restarts were the same all the
    time: so neither the first epoch counts, which loads and compiles, nor one that changed its
    nodes on the way. `before` is the phase of the run at the last look.
    """
    progress = progress_of(run.progress)
    if progress is None or progress.unit != "epochs":
        return
    if before is not RunPhase.RUNNING or (run.is_live and run.phase != RunPhase.RUNNING):
        _forget_current(run)
        return
    # Bars of a validation may fall back within an epoch; whole epochs do not.
    done, same = int(progress.done), [stretch_of(run).nodes, run.restarts]
    known = run.epochs
    if known.get("same") != same or done < known["done"]:
        run.epochs = {"times": known.get("times", {}), "same": same, "done": done, "at": None}
    elif done > known["done"]:
        run.epochs = _timed(known, done, run.ended_at or now)


def _forget_current(run: Run) -> None:
    if "same" in run.epochs:
        run.epochs = {"times": run.epochs["times"]}


def _timed(known: Mapping[str, Any], done: int, at: datetime) -> dict[str, Any]:
    """The stored times after so many epochs were done."""
    times = dict(known["times"])
    if known["at"] is not None:
        nodes = str(known["same"][0])
        epochs, seconds = times.get(nodes, (0, 0.0))
        lasted = (at - datetime.fromisoformat(known["at"])).total_seconds()
        times[nodes] = [epochs + done - known["done"], round(seconds + max(lasted, 0.0), 3)]
    return {"times": times, "same": known["same"], "done": done, "at": at.isoformat()}
