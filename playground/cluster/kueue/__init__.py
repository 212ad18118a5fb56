"""Queue admission as Kueue 0.19 does it, in its own objects and words.

It imitates only what the stories and the bot's tests need, and is frozen: it gets no new behaviour.
What Kueue itself decides (who borrows, waits or is preempted) is tested on the real one, in
tests/cluster and tests/node; docs/testing.md has the list. Where the two differ, that one is right.
"""
