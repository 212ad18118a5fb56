"""What is to be done with a wait: nothing yet, a message, or an end without one."""

from datetime import timedelta
from decimal import Decimal

from bot.gpus.waits.decide import Expire, Notify, Revoke, WaitObserved, decide
from bot.gpus.waits.free import FreeGpus
from bot.gpus.waits.tables import GpuWait
from bot.reconcile.decisions import Wait
from tests.bot.ground import ALICE, START

H100, A100 = "h100", "a100"


def row(gpus: int = 4, gpu_type: str = "") -> GpuWait:
    return GpuWait(
        workspace_id="T0QM",
        team="team-a",
        person=ALICE,
        cluster="default",
        gpu_type=gpu_type,
        gpus=gpus * 1000,
        asked_at=START,
        until=START + timedelta(minutes=90),
    )


def free(gpu_type: str, gpus: int | None, most: int = 16) -> FreeGpus:
    return FreeGpus(gpu_type, None if gpus is None else Decimal(gpus), Decimal(most))


def seen(*found: FreeGpus) -> WaitObserved:
    return WaitObserved(may_act=True, free=found)


def test_too_few_are_looked_at_every_minute() -> None:
    assert decide(row(), seen(free(H100, 3)), START) == Wait(START + timedelta(minutes=1))


def test_types_are_not_added_up() -> None:
    observed = seen(free(H100, 3), free(A100, 2))
    assert decide(row(), observed, START) == Wait(START + timedelta(minutes=1))


def test_any_type_with_enough_will_do() -> None:
    observed = seen(free(H100, 3), free(A100, 4))
    assert decide(row(), observed, START) == Notify(free(A100, 4))


def test_only_the_wanted_type_counts() -> None:
    observed = seen(free(H100, 3), free(A100, 8))
    assert isinstance(decide(row(gpu_type=H100), observed, START), Wait)
    assert decide(row(gpu_type=A100), observed, START) == Notify(free(A100, 8))


def test_unknown_figures_are_not_free() -> None:
    assert isinstance(decide(row(), seen(free(H100, None)), START), Wait)
    assert isinstance(decide(row(), WaitObserved(may_act=True, free=None), START), Wait)


def test_last_look_is_at_the_end() -> None:
    late = START + timedelta(minutes=89, seconds=30)
    assert decide(row(), seen(free(H100, 3)), late) == Wait(START + timedelta(minutes=90))


def test_it_expires_unless_they_are_free_then() -> None:
    end = START + timedelta(minutes=90)
    assert decide(row(), seen(free(H100, 3)), end) == Expire()
    assert decide(row(), WaitObserved(may_act=True, free=None), end) == Expire()
    assert decide(row(), seen(free(H100, 4)), end) == Notify(free(H100, 4))


def test_former_members_are_told_nothing() -> None:
    gone = WaitObserved(may_act=False, free=None)
    assert decide(row(), gone, START) == Revoke()
    assert decide(row(), gone, START + timedelta(hours=2)) == Revoke()
