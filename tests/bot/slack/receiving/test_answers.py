"""Answers that wait for Slack's limit leave workers for those of others."""

from bot.slack.receiving.answers import Waiting


def test_three_answers_wait_in_a_channel() -> None:
    waiting = Waiting()
    assert [waiting.begins("D0ALICE") for _ in range(4)] == [True, True, True, False]
    assert waiting.begins("D0BOB")
    waiting.ends("D0ALICE")
    assert waiting.begins("D0ALICE")
    assert not waiting.begins("D0ALICE")
