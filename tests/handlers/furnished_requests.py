"""Requests that wait for an approval, and what their buttons say."""

import json
from collections.abc import Callable
from typing import Any

from sqlmodel import Session

from bot.leftovers.removals.tables import RemovalRequest
from bot.training.requests.tables import RunRequest
from bot.volumes.provisioning.tables import PoolRequest
from playground.arm.estate import SUBSCRIPTION

_COST = {"template": "burst", "cluster": "lab", "queue": "team-a", "hourly": "36", "limit": "20",
         "currency": "USD"}  # fmt: skip
_POOL = {"b": SUBSCRIPTION, "a": "ml-platform/ml"}


def waiting_requests(session: Session, row: Callable[..., Any]) -> dict[str, str]:
    """Alice's requests for a run, a removal and a pool; `row` makes a row of hers."""
    run = row(RunRequest, name="costly", places=[], costs=[_COST])
    removal = row(RemovalRequest, kind="cache", thing="other")
    pool = row(PoolRequest, verb="create", place_key="other")
    session.add_all([run, removal, pool])
    new = _POOL | {"v": "create", "p": "new-1", "l": "Premium", "s": 2**42}
    return {
        "train.withdraw": run.id,
        "qm.withdraw-removal": removal.id,
        "anf.pool-withdraw": pool.id,
        "anf.pool": json.dumps(new),
        "anf.pool-ask": json.dumps(_POOL | {"v": "delete", "p": "standard"}),
    }
