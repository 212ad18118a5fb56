"""A notebook whose GPUs somebody measures."""

from collections.abc import Mapping
from datetime import timedelta

from bot.gpus.amounts import Amounts
from tests.bot.gpus.rig import Sampled
from tests.bot.training.sessions.notebooks import NOTEBOOK
from tests.prometheus import Scraped

USED, FREE = "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"
HOURS = timedelta(hours=3)
MINUTE = timedelta(minutes=1)


def begin(rig: Sampled, name: str = "nb", gpus: int = 2) -> str:
    """Alice's notebook, which runs until it is stopped."""
    run_id = rig.submit(name, image=NOTEBOOK, command=(), kind="interactive", gpus=gpus)
    rig.pass_time(seconds=60)
    return run_id


def scrape(
    rig: Sampled, run_id: str, values: Mapping[str, Mapping[str, float]], prefix: str = ""
) -> Scraped:
    """What the exporter says of the GPUs of a run for hours from now on: values by GPU."""
    scraped, now = Scraped(), rig.clock.now()
    pod = rig.pod_of(rig.get(run_id).id)
    for gpu, metrics in values.items():
        labels = {f"{prefix}namespace": "team-a", f"{prefix}pod": pod, "gpu": gpu, "UUID": gpu}
        if prefix:
            labels |= {"namespace": "monitoring", "pod": "dcgm-exporter-x"}
        for metric, value in metrics.items():
            scraped.add(metric, labels, (now - HOURS, now + HOURS), value)
    return scraped


def share(rig: Sampled, minutes: int) -> Amounts:
    """What alice's notebook did in the minutes before the last two, which are known of."""
    return rig.held(minutes, rig.clock.now() - 2 * MINUTE)["team-a/nb"]
