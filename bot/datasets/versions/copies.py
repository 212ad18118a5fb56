"""What cards and messages say of the copies of a version, and of their removal."""

from collections.abc import Iterator

from bot.datasets.tables import CopyState, Version, VersionPhase
from bot.datasets.wording import objects, size, verified
from bot.slack.markup import Markup, code, plain

_NOT_NEEDED = "not needed: the bucket keeps versions, and the manifest names that of each object"

_LEAST_SHOWN = 0.01


def monthly(size_bytes: int, price_per_gib: float | None) -> str:
    """What that many bytes cost a month in the store of copies; says so if the price is unknown."""
    if price_per_gib is None:
        return "price unknown"
    cost = price_per_gib * size_bytes / 2**30
    return f"{cost:,.2f} a month" if cost >= _LEAST_SHOWN or not cost else "under 0.01 a month"


def facts(version: Version) -> Iterator[tuple[str, Markup]]:
    """The facts about a version's copy: while it is made, and afterwards."""
    match version.copy_state:
        case CopyState.WANTED if version.phase == VersionPhase.COPYING:
            whole = version.size_bytes or 0
            yield "Copy", plain(f"at most {size(whole)}, {monthly(whole, version.copy_price)}")
            yield "Copied to", code(version.copies)
        case CopyState.MADE:
            yield "Copy", plain(amount(version))
            yield "Copied to", code(version.copies)
            if version.verified_by:
                by = verified(version.verified_by, version.verified_bytes, version.copied_bytes)
                yield "Copy verified", plain(by)
        case CopyState.NOT_NEEDED:
            yield "Copy", plain(_NOT_NEEDED)
        case CopyState.REMOVED:
            yield "Copy", plain("removed")
        case _:
            pass


def amount(version: Version) -> str:
    """How many of a version's objects had to be copied, and what these cost."""
    whole = version.objects or 0
    if not version.copied_files:
        return f"all {objects(whole)} had copies already"
    new = f"{objects(version.copied_files)}, {size(version.copied_bytes)}"
    cost = monthly(version.copied_bytes, version.copy_price)
    if version.copied_files == whole:
        return f"{new}, {cost}"
    return f"{new} were new, {cost}; the others had copies already"


def made(version: Version) -> str:
    """A sentence that says that a version has a copy; empty without one."""
    if version.copy_state == CopyState.NOT_NEEDED:
        return f"A copy is {_NOT_NEEDED}."
    if version.copy_state != CopyState.MADE:
        return ""
    return f"Its copy is complete: {amount(version)}."


def removed(sweep: Version) -> str:
    """A sentence that says which copies were removed."""
    of = f"the copy of {sweep.reference}" if sweep.name else f"the copies of {sweep.dataset}"
    gone = f"{objects(sweep.copied_files)}, {size(sweep.copied_bytes)}"
    saved = monthly(sweep.copied_bytes, sweep.copy_price)
    kept = sweep.objects or 0
    stay = f" Other versions keep {objects(kept)}." if kept else ""
    return f"Removed {of}: {gone}, {saved}.{stay}"
