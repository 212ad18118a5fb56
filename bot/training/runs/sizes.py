"""The nodes of elastic runs: wanted, running, waiting and refused."""

from bot.training.runs.decide import Decision, RunObserved, Scale
from bot.training.spec import asked_spec, spec_of
from bot.training.state import has_ended, has_place
from bot.training.tables import Run


def is_elastic(run: Run) -> bool:
    """Whether the number of its nodes can change while it runs."""
    return run.spec.get("nodes_range") is not None


def wanted_nodes(run: Run) -> int:
    """The number of nodes it should have, ignoring a number that the cluster refused."""
    return spec_of(run).nodes if is_refused(run) else run.scale_to or spec_of(run).nodes


def is_refused(run: Run) -> bool:
    """Whether the cluster refused the wanted number of nodes."""
    return run.scale_to is not None and run.unscaled_to == run.scale_to


def take_size(run: Run, seen: RunObserved, decision: Decision) -> None:
    """Stores how many nodes it requests and has, and a refusal of the cluster."""
    if not is_elastic(run) or seen.root is None:
        return
    run.size = seen.root.nodes
    live = [p for p in seen.pods if not has_ended(p) and p.metadata.deletion_timestamp is None]
    run.pods_running = sum(pod.status.phase == "Running" for pod in live)
    run.pods_waiting = sum(not has_place(pod) for pod in live)
    if isinstance(decision, Scale) and decision.refusal:
        run.unscaled_to, run.unscaled_why = decision.nodes, decision.refusal


def size_words(run: Run) -> str:
    """The fact on a card: nodes running, waiting and allowed."""
    wanted, (fewest, most) = wanted_nodes(run), asked_spec(run).nodes_allowed
    allowed = f"; {fewest} to {most} allowed" if fewest != most else ""
    if run.pods_running is None or not run.is_live:
        return f"{_nodes(wanted)}{allowed}"
    waiting = run.pods_waiting
    waits = f", {waiting} waiting for admission" if waiting else ""
    return f"{run.pods_running} of {_nodes(wanted)} running{waits}{allowed}"


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"
