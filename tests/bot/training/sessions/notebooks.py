"""Notebooks as tests need them, in as few words as possible."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlmodel import col, select

from bot.config import ClusterSettings, Ingress
from bot.errors import QuartermasterError
from bot.slack.messages import Message
from bot.training.sessions.service import SessionService
from bot.training.tables import RunPhase
from tests.bot.ground import ALICE
from tests.bot.training.rig import Rig

NOTEBOOK = "quay.io/jupyter/base-notebook:2026-11-17"
BESIDE = ("secrets", "services", "ingresses")
MADE = ["create jobs", "create secrets", "create services", "create ingresses"]
GONE = ["delete secrets", "delete services", "delete ingresses"]
LONGEST_LIFE = 14


def with_ingress(rig: Rig, **more: Any) -> Rig:
    """The cluster with a way in for browsers."""
    way = Ingress.model_validate({"host": "ml.example.com", "class_name": "nginx", **more})
    cluster = ClusterSettings(ingress=way)
    rig.policy = rig.policy.model_copy(update={"clusters": {"default": cluster}})
    return rig


def begin(rig: Rig, **more: Any) -> str:
    """Alice's notebook, which nobody has looked at yet."""
    fields: dict[str, Any] = {"image": NOTEBOOK, "command": (), "gpus": 1, "kind": "interactive"}
    return rig.submit("nb", **(fields | more))


def running(rig: Rig, **more: Any) -> str:
    """Alice's notebook once it runs."""
    run_id = begin(rig, **more)
    rig.pass_time(seconds=30)
    assert rig.get(run_id).phase == RunPhase.RUNNING
    return run_id


def leap(rig: Rig, moment: datetime) -> None:
    """Goes to a moment at once, and takes the steps that are due then."""
    rig.outside.clock.moment = moment
    rig.run()


def left(rig: Rig, run_id: str) -> list[str]:
    """What of a run is in the cluster, by kind; asked of the cluster itself."""
    return [
        f"{kind}/{each['metadata']['name']}"
        for kind in ("jobs", "pods", *BESIDE)
        for each in rig.world.list(kind, "team-a")
        if each["metadata"].get("labels", {}).get("quartermaster.dev/run") == run_id
    ]


def left_beside(rig: Rig, run_id: str) -> list[str]:
    """What is left of its dependents."""
    return [each for each in left(rig, run_id) if each.partition("/")[0] in BESIDE]


def extend(rig: Rig, run_id: str, by: timedelta, person: str = ALICE) -> None:
    """Somebody has it last longer."""
    caller, sessions = rig.caller(person), SessionService(rig.words)
    rig.do(lambda s: sessions.extend(s, caller, rig.service.get(s, run_id), by, rig.clock.now()))


def extend_until(rig: Rig, run_id: str, until: datetime) -> None:
    """Alice clicks a button that means that moment."""
    caller, sessions, now = rig.caller(), SessionService(rig.words), rig.clock.now()
    rig.do(lambda s: sessions.extend_until(s, caller, rig.service.get(s, run_id), until, now))


def refused(work: Callable[[], object]) -> str:
    with pytest.raises(QuartermasterError) as error:
        work()
    return f"{error.value.message} {error.value.hint}".strip()


def buttons(rig: Rig, run_id: str, purpose: str) -> list[dict[str, Any]]:
    """The buttons of something that was said about a run."""
    said = select(Message).where(col(Message.subject_id) == run_id, col(Message.purpose) == purpose)
    return rig.do(lambda session: session.scalars(said).one().buttons) or []


def shown(moment: datetime, **later: int) -> str:
    """A moment as a message has it."""
    at = moment + timedelta(**later)
    return f"<!date^{int(at.timestamp())}^{{date_short_pretty}} {{time}}|{at:%Y-%m-%d %H:%M} UTC>"
