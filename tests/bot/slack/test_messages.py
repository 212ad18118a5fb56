"""What was said once goes when nobody can need it any more."""

from datetime import timedelta

from bot.slack.messages import forget
from tests.bot.slack.sending.senders import WHEN, SenderRig


def purposes(post: SenderRig) -> list[str]:
    return sorted(row.purpose for row in post.rows())


def said(post: SenderRig, *, live: bool) -> None:
    """A card and a note in its thread, both shown."""
    post.show(live=live)
    post.say("ended", "Run lane succeeded.")
    post.sender.send_due()
    post.pass_time(1)
    post.sender.send_due()
    assert post.sender.depth() == 0


def test_notes_go_a_month_after_the_end(post: SenderRig) -> None:
    said(post, live=False)
    post.database.transaction(lambda s: forget(s, WHEN + timedelta(days=30)))
    assert purposes(post) == ["card", "ended"]
    post.database.transaction(lambda s: forget(s, WHEN + timedelta(days=31)))
    assert purposes(post) == ["card"]


def test_notes_of_live_subjects_are_kept(post: SenderRig) -> None:
    said(post, live=True)
    post.database.transaction(lambda s: forget(s, WHEN + timedelta(days=90)))
    assert purposes(post) == ["card", "ended"]


def test_notes_that_wait_to_be_said_are_kept(post: SenderRig) -> None:
    post.show(live=False)
    post.say("ended", "Run lane succeeded.")
    post.database.transaction(lambda s: forget(s, WHEN + timedelta(days=90)))
    assert purposes(post) == ["card", "ended"]
