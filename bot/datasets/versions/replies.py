"""What a person reads before copies are made or removed."""

from bot.datasets.tables import CopyState, Dataset, Version
from bot.datasets.versions.copies import monthly
from bot.datasets.wording import objects, size
from bot.slack.card import Reply
from bot.slack.markup import Markup, code, join, plain


def copy_offered(
    dataset: Dataset, newest: Version | None, copies: str, price: float | None, command: str
) -> Reply:
    """What a version with a copy would take, judged by the newest version, and how to start it."""
    lines: list[Markup] = [
        join("This lists ", code(dataset.source), " and copies its objects to ", code(copies),
             ", so that the version can be cached even after they are overwritten or deleted."),
        _expected(newest, price),
        plain("Objects that have a copy already are not copied again. If the bucket keeps versions,"
              " nothing is copied, because the version then names the version of each object."),
        join("Nothing has started. ", code(command), " starts it."),
    ]  # fmt: skip
    return Reply(tuple(lines))


def _expected(newest: Version | None, price: float | None) -> Markup:
    if newest is None:
        unit = "unknown price" if price is None else f"{price:g} a month for each GiB"
        return plain(f"The size is unknown until the objects are listed ({unit}).")
    whole = newest.size_bytes or 0
    amount = f"{objects(newest.objects or 0)}, {size(whole)} ({monthly(whole, price)})"
    if newest.copy_state == CopyState.MADE:
        return plain(f"{newest.name} has {amount} and a copy: only what changed since is copied.")
    return plain(f"{newest.name} has {amount}, so the copy takes about as much.")


def removal_offered(version: Version, command: str) -> Reply:
    """What is lost with the copy of a version, and how to remove it."""
    whole = version.size_bytes or 0
    cost = monthly(whole, version.copy_price)
    return Reply(
        (
            plain(f"The copy of {version.reference} has {objects(version.objects or 0)},"
                  f" {size(whole)} ({cost}). What other copied versions share of it stays."),
            plain(f"{version.reference} stays in the catalogue, and so do its caches. But it cannot"
                  " be cached again once its objects are overwritten or deleted in the source."),
            join("Nothing has been removed. ", code(command), " removes it. This cannot"
                 " be undone."),
        )
    )  # fmt: skip


def all_removal_offered(dataset: Dataset, made: list[Version], command: str) -> Reply:
    """What is lost with a dataset whose versions have copies, and how to remove it."""
    names = ", ".join(each.name for each in made)
    return Reply(
        (
            plain(f"Removing {dataset.name} also removes the copies of {names}. Versions whose"
                  " objects were overwritten or deleted in the source are then lost."),
            join("Nothing has been removed. ", code(command), " removes it. This cannot"
                 " be undone."),
        )
    )  # fmt: skip
