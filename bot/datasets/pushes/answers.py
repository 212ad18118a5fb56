"""What people are told when they ask for a push: what it would do, and that it has begun."""

from collections.abc import Iterator

from bot.datasets.push_tables import Push
from bot.datasets.pushes.plan import written
from bot.datasets.pushes.service import Offer
from bot.datasets.pushes.volumes import Volume
from bot.datasets.wording import capacity
from bot.slack.card import Button, Card, Reply
from bot.slack.markup import Markup, code, join, plain, when

CONFIRM = "dataset.push"


def offered(offer: Offer) -> Reply:
    """What would be pushed, with the button that begins it; nothing was done yet."""
    wish, volume = offer.wish, offer.volume
    facts: list[tuple[str, Markup]] = [
        ("From", code(wish.source)),
        *_snapshot(volume),
        ("Volume", plain(f"{capacity(volume.capacity_bytes)} on {volume.storage_class}; how much"
                         " of it is in the folder is counted first")),
        ("To", code(wish.target)),
        ("Store", code(offer.store)),
        ("What is there", plain(_there(offer))),
        ("Becomes", plain(_becomes(offer))),
    ]  # fmt: skip
    card = Card(
        title=f"Push {wish.source}?",
        lines=(plain("Nothing is done yet. This is what it does:"),),
        facts=tuple(facts),
    )
    return Reply(card=card, buttons=(Button(CONFIRM, "Push it", written(wish), "primary"),))


def begun(push: Push) -> Reply:
    """That a push has begun."""
    return Reply(
        (
            plain(f"{push.source} is being pushed to {push.target}."),
            plain("Its card in this channel follows it, and its button stops it."),
        )
    )


def _snapshot(volume: Volume) -> Iterator[tuple[str, Markup]]:
    """Of what a snapshot is, and how it is read."""
    if volume.snapshot_uid:
        of = f"of PVC {volume.claim}" if volume.claim else "of a PVC that is not known"
        moment = join(" as of ", when(volume.at)) if volume.at is not None else ""
        yield "Snapshot", join(of, moment, "; a PVC is made of it for as long as it is read")


def _there(offer: Offer) -> str:
    if not offer.wish.is_overwriting:
        return "stays: where an object has another content, the push ends and names it"
    lost = ""
    if offer.versions:
        count = f"{offer.versions} version{'' if offer.versions == 1 else 's'}"
        lost = f"; {count} of {offer.dataset} may need what is lost by that"
    return f"is overwritten where it has another content{lost}"


def _becomes(offer: Offer) -> str:
    if not offer.dataset:
        return "no version: it is no dataset, and --as NAME makes it one"
    name = offer.wish.version or "the next free name"
    whose = "new dataset" if offer.is_new else "dataset"
    return f"version {name} of the {whose} {offer.dataset}"
