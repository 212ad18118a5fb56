"""All states by area, and their digests."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tests.handlers.command_client import CommandClient
from tests.states import (
    datasets,
    flows,
    forms,
    gpus,
    home,
    pools,
    quotas,
    removals,
    requests,
    runs,
    snapshots,
    sweeps,
    teams,
    volumes,
)
from tests.states.ground import shown
from tests.states.reading import drawn, text_of
from tests.states.state import Shown, State

APPROVED = Path(__file__).parent / "approved"
AREAS: Mapping[str, Callable[[CommandClient], Iterable[State]]] = {
    "runs": lambda _: runs.states(),
    "sweeps": lambda _: sweeps.states(),
    "requests": lambda _: requests.states(),
    "removals": lambda _: removals.states(),
    "pools": lambda _: pools.states(),
    "flows": lambda _: flows.states(),
    "quotas": lambda _: quotas.states(),
    "teams": lambda _: teams.states(),
    "datasets": lambda _: datasets.states(),
    "snapshots": lambda _: snapshots.states(),
    "volumes": lambda _: volumes.states(),
    "gpus": lambda _: gpus.states(),
    "forms": forms.states,
    "home": lambda _: home.states(),
}
Found = dict[str, dict[str, Shown]]


def all_states(client: CommandClient) -> dict[str, list[State]]:
    """Every state, by area."""
    return {area: list(states(client)) for area, states in AREAS.items()}


def all_shown(client: CommandClient) -> Found:
    """What is shown in every state, by area and name."""
    return {
        area: {each.name: shown(client, each) for each in states}
        for area, states in all_states(client).items()
    }


def area_text(found: Mapping[str, Shown]) -> str:
    """The states of an area as a reviewer reads them."""
    return "\n".join(f"== {name}\n\n{text_of(each)}\n" for name, each in found.items())


def digest_of(each: Shown) -> str:
    """A digest of what can be seen of a state."""
    seen = [each.kind, drawn(each.body), each.errors]
    if each.kind == "message":
        seen[1] = drawn(each.blocks)
    written = json.dumps(seen, ensure_ascii=False, sort_keys=True, default=str)
    return hashlib.sha256(written.encode()).hexdigest()[:16]
