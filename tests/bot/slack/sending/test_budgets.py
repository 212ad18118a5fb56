"""Slack's budgets count from when a call really goes out, and when Slack has seen it at last."""

import pytest

from bot.slack.sending.budgets import POST, UPDATE, Budgets, Call
from tests.watches import Watch

IN_A, IN_B = Call(POST, "C0TEAMA"), Call(POST, "C0TEAMB")


def test_a_channel_takes_one_post_a_second() -> None:
    watch = Watch()
    budgets = Budgets(watch)
    assert [budgets.take(IN_A), budgets.take(IN_A), budgets.take(IN_B)] == [True, False, True]
    watch.seconds += 1
    assert budgets.take(IN_A)


def test_a_late_post_puts_off_the_next() -> None:
    watch = Watch()
    budgets = Budgets(watch)
    assert budgets.take(IN_A)
    watch.seconds += 0.5
    budgets.begins(IN_A)
    assert [budgets.wait_seconds(IN_A), budgets.wait_seconds(IN_B)] == [1.0, 0.0]


@pytest.mark.parametrize(("answered_after", "next_after"), [(0.05, 1.0), (0.1, 1.0), (0.5, 1.4)])
def test_a_slow_answer_puts_off_the_next(answered_after: float, next_after: float) -> None:
    watch = Watch()
    budgets = Budgets(watch)
    assert budgets.take(IN_A)
    budgets.begins(IN_A)
    watch.seconds += answered_after
    budgets.ends(IN_A)
    assert answered_after + budgets.wait_seconds(IN_A) == pytest.approx(next_after)
    assert budgets.wait_seconds(IN_B) == 0.0


def test_a_late_edit_takes_nothing_more() -> None:
    budgets = Budgets(Watch())
    edit = Call(UPDATE, "C0TEAMA")
    assert budgets.take(edit)
    for _ in range(20):
        budgets.begins(edit)
        budgets.ends(edit)
    assert budgets.wait_seconds(edit) == 0.0
