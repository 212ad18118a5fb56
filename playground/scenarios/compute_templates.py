"""A run that is not admitted on one cluster moves on to another; a costly one needs approval."""

from playground.settings import Setup
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

SETUP = Setup(
    clusters={"default": "kueue", "lab": "kai"},
    settings={
        "teams": {"team-a": {"clusters": ["default", "lab"]}},
        # The clock may leap while a cluster is down.
        "training": {"long_wait": "24h"},
        "templates": {
            "dgx": {"purpose": "our own GPUs", "gpu_type": "h100", "price_per_gpu_hour": 2},
            "burst": {
                "purpose": "rented by the hour",
                "cluster": "lab",
                "price_per_gpu_hour": "4.5",
            },
            "reserved": {
                "purpose": "reserved by the day",
                "gpu_type": "h100",
                "price_per_gpu_hour": 8,
                "leads_above": 40,
            },
        },
    },
)
_FILLS = "--image ghcr.io/acme/long:1.0 --gpus 8 --cluster default -- python serve.py"
_ON = "--on dgx,burst --fallback-after 2m -- python train.py"
_WIDE = f"--image ghcr.io/acme/lane:3.1 --gpus 8 {_ON}"

_COSTLY = "--image ghcr.io/acme/lane:3.1 --gpus 8 --time 2h --on reserved -- python train.py"


async def play(story: Story) -> None:
    """The first cluster is full, so what names both ends on the second."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/long", never_ends=True, silent=True)
    story.trains("ghcr.io/acme/lane", seconds_per_epoch=20)
    await alice.types("#team-a", "/train templates")
    await alice.is_told(
        "Compute templates of team-a",
        "dgx | our own GPUs | default | team-a | h100 | 2.00 USD | 12 | 30m",
        "burst | rented by the hour | lab | team-a | default | 4.50 USD | 16 | 30m",
        "reserved | reserved by the day | default | team-a | h100 | 8.00 USD | 12 | 30m",
    )
    fills = await submits(story, alice, "#team-a", "fills", _FILLS)
    await is_admitted(story, fills)
    await fills.shows("Running for")
    wide = await submits(story, alice, "#team-a", "wide", _WIDE)
    await story.reply(wide, "Not admitted on dgx in 2m", "waits on burst now", "36.00 USD an hour")
    await is_admitted(story, wide)
    await ends_well(alice, "#team-a", wide, "wide")
    await wide.shows("Template: burst, 2 of 2, 36.00 USD an hour", "lab: team-a/wide-")
    story.cluster_goes_down("lab")
    held = await submits(story, alice, "#team-a", "held", _WIDE)
    await held.shows("It cannot move on to burst, because cluster lab does not respond.")
    await alice.types("#team-a", "/train why held")
    await alice.is_told("It waits on dgx, in queue team-a of cluster default")
    await story.cluster_comes_back("lab")
    await story.reply(held, "Not admitted on dgx in", "waits on burst now")
    await is_admitted(story, held)
    await ends_well(alice, "#team-a", held, "held")
    await alice.types("#team-a", "/train stop fills")
    await alice.is_told("Stopping fills")
    await fills.shows("Stopped after")
    await alice.is_mentioned("#team-a", "fills was stopped by alice", thread=fills)
    await _costs_too_much(story)


async def _costs_too_much(story: Story) -> None:
    """A run above the limit of a template is submitted once an admin has approved its cost."""
    alice, carol = story.person("Alice"), story.person("Carol")
    await alice.types("#team-a", f"/train submit big {_COSTLY}")
    await alice.is_told(
        "On template reserved, this run costs 64.00 USD an hour; its limit is 40.00 USD an hour.",
        "Requested an approval to submit big for team-a.",
    )
    own = await story.card("#team-a", "Run big of team-a, above a cost limit")
    asked = await story.card("#gpu-approvals", "Run big of team-a, above a cost limit")
    await asked.shows("64.00 USD an hour, at most 128.00 USD within its time limit of 2h")
    await carol.clicks(asked, "Approve")
    await carol.is_told("You approved this request.")
    await own.shows("Approved and submitted", f"{carol.name} approved")
    await alice.is_mentioned("#team-a", "The cost of big was approved", thread=own)
    big = await story.card("#team-a", "big")
    await is_admitted(story, big)
    await ends_well(alice, "#team-a", big, "big")
