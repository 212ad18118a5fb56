"""Cards as a test compares them."""

from tests.bot.training.rig import Rig

FACTS = """\
  Image      `ghcr.io/acme/lane:3.1`
  GPUs       {gpus}
  By         Alice
  Where      `team-a/{job}`
  Submitted  2026-11-21 12:00 UTC"""


def card(rig: Rig, run_id: str) -> str:
    """The run's card without the facts that never change."""
    run = rig.get(run_id)
    facts = FACTS.format(gpus=run.spec["gpus"], job=run.job_name)
    assert facts in rig.card(run_id)
    return rig.card(run_id).replace(facts + "\n", "")
