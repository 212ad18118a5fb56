"""Replies to a push command: what it would do, and that it has started."""

from collections.abc import Iterator

from bot.datasets.pushes.job import longest_time
from bot.datasets.pushes.plan import written
from bot.datasets.pushes.service import PushOffer
from bot.datasets.pushes.volumes import PushVolume
from bot.datasets.tables import Push
from bot.datasets.wording import capacity
from bot.slack.card import Button, Card, Reply
from bot.slack.markup import Markup, code, join, plain, when

CONFIRM = "dataset.push"


def offered(offer: PushOffer) -> Reply:
    """What would be pushed, with the button that starts it."""
    request, volume = offer.request, offer.volume
    facts: list[tuple[str, Markup]] = [
        ("From", code(request.source)),
        *_snapshot(volume),
        ("Volume", plain(f"{capacity(volume.capacity_bytes)} on {volume.storage_class}; the push"
                         " first measures the folder")),
        ("To", code(request.target)),
        ("Store", code(offer.store)),
        ("Existing objects", plain(_there(offer))),
        ("Recorded as", plain(_becomes(offer))),
    ]  # fmt: skip
    card = Card(
        title=f"Push {request.source}?",
        lines=(plain("Nothing has been copied yet. This is what the push does:"),),
        facts=tuple(facts),
    )
    return Reply(card=card, buttons=(Button(CONFIRM, "Push it", written(request), "primary"),))


def begun(push: Push) -> Reply:
    """The reply that a push has started."""
    return Reply(
        (
            plain(f"Pushing {push.source} to {push.target}."),
            plain("Its card in this channel shows the progress. The Stop button ends it."),
        )
    )


def expected(push: Push) -> Reply:
    """The reply that files of a computer can soon be pushed."""
    return Reply(
        (
            plain(f"Preparing a push from your computer to {push.target}."),
            plain("Once its card in this channel shows the button Get the command, click it."),
            plain(
                "For a few small files, stop it, drop them into this channel and choose Save files"
                " as a dataset in the menu of that message."
            ),
        )
    )


def dropped(push: Push) -> Reply:
    """The reply that the files of a message are copied."""
    return Reply(
        (
            plain(f"Copying the files of that message to {push.target}."),
            plain("Its card in this channel shows the progress. The Stop button ends it."),
        )
    )


def granted(push: Push, word: str) -> Reply:
    """How its requester pushes their files, with the grant; no one else sees it."""
    until = push.started_at + longest_time(0) if push.started_at is not None else None
    ends = join(" It works until ", when(until), " at the latest.") if until is not None else ""
    card = Card(
        title=f"Push to {push.target}",
        lines=(
            join("Run ", code("quartermaster dataset push FOLDER"), " on your computer, with the"
                 " folder that has the files, and paste this grant when asked:"),
            join("Only you can see this. Anyone who has the grant can push files there, so keep it"
                 " private.", ends),
        ),
        code=word,
    )  # fmt: skip
    return Reply(card=card)


def _snapshot(volume: PushVolume) -> Iterator[tuple[str, Markup]]:
    """The PVC and time of a snapshot, and how it is read."""
    if volume.snapshot_uid:
        of = f"of PVC {volume.claim}" if volume.claim else "of an unknown PVC"
        moment = join(" as of ", when(volume.at)) if volume.at is not None else ""
        yield "Snapshot", join(of, moment, "; a PVC is created from it while it is read")


def _there(offer: PushOffer) -> str:
    if not offer.request.is_overwriting:
        return "stay; if one has different content, the push fails and names it"
    lost = ""
    if offer.versions:
        count = f"{offer.versions} version{'' if offer.versions == 1 else 's'}"
        lost = f"; {count} of {offer.dataset} may need the overwritten content"
    return f"are overwritten if their content differs{lost}"


def _becomes(offer: PushOffer) -> str:
    if not offer.dataset:
        return "no version: the target is not a dataset; --as NAME makes it one"
    name = offer.request.version or "(next free name)"
    whose = "new dataset" if offer.is_new else "dataset"
    return f"version {name} of the {whose} {offer.dataset}"
