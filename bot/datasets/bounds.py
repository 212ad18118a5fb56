"""Which places of object stores a team may use: those that the settings name, and no others."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlmodel import Session, col, select

from bot.config import Settings, is_place
from bot.config.places import WORDS
from bot.datasets.location import Location, overlap
from bot.datasets.tables import Dataset, Version
from bot.errors import NotAllowedError

_MORE = "A platform admin sets the places of teams in stores.NAME.places of quartermaster.yaml."


class StoreUse(NamedTuple):
    """A place in a store that a team reads from or writes to."""

    team: str
    store: str
    place: str
    is_writing: bool = False


def refusal(settings: Settings, use: StoreUse) -> NotAllowedError | None:
    """The error if the settings do not let a team use a place, else None."""
    why = ambiguous(use.place) or _reserved(settings, use.place)
    if why is None and _granted(settings, use) is None:
        what = "push to" if use.is_writing else "read"
        hint = places_hint(settings, use.team, is_writing=use.is_writing)
        why = NotAllowedError(f"{use.team} may not {what} {use.place}.", hint)
    return why


def insist(why: NotAllowedError | None) -> None:
    """Raises the error, if there is one."""
    if why is not None:
        raise why


def reading_refusal(
    session: Session, settings: Settings, use: StoreUse, dataset_id: str | None = None
) -> NotAllowedError | None:
    """The error if a team may not read a place, else None.

    Besides the settings, datasets that the team may not use forbid a place that they overlap. With
    `dataset_id`, only datasets added before that one count.
    """
    why = refusal(settings, use)
    granted = _granted(settings, use)
    if why is not None or granted is None or granted in _shared(settings, use.store):
        return why
    foreign = next(_unreadable(session, use, granted, dataset_id), None)
    if foreign is None:
        return None
    return NotAllowedError(
        f"{use.place} overlaps a dataset of another team, which {use.team} may not use.",
        "Ask that team to add the dataset again with your team among its readers.",
    )


def of_version(session: Session, settings: Settings, version: Version) -> NotAllowedError | None:
    """The error if the source of a version may no longer be read, else None."""
    use = StoreUse(version.team, version.store, version.source)
    return reading_refusal(session, settings, use, version.dataset_id)


def of_dataset(session: Session, settings: Settings, dataset: Dataset) -> NotAllowedError | None:
    """The error if the source of a dataset may no longer be read, else None."""
    use = StoreUse(dataset.team, dataset.store, dataset.source)
    return reading_refusal(session, settings, use, dataset.id)


def ambiguous(place: str) -> NotAllowedError | None:
    """The error if stores and clients may read a place differently, else None."""
    if is_place(place):
        return None
    return NotAllowedError(f"{place} can mean several places.", f"Write it as {WORDS}.")


def stores_of(settings: Settings, team: str, *, is_writing: bool) -> list[str]:
    """The stores in which a team has at least one place."""
    return [name for name in settings.stores if _places(settings, name, team, is_writing)]


def stores_with(settings: Settings, use: StoreUse) -> list[str]:
    """The stores in which the team may use that place; the store of `use` is ignored."""
    each_use = (use._replace(store=name) for name in settings.stores)
    return [each.store for each in each_use if _granted(settings, each) is not None]


def places_hint(settings: Settings, team: str, *, is_writing: bool) -> str:
    """A hint: the places that a team may use, and who can change them."""
    found = [
        f"{place} in store {name}"
        for name in settings.stores
        for place in _places(settings, name, team, is_writing)
    ]
    return f"{team} may use {', '.join(found)}. {_MORE}" if found else _MORE


def _reserved(settings: Settings, place: str) -> NotAllowedError | None:
    state = settings.datasets.state if settings.datasets is not None else None
    if state is None or not overlap(state, place):
        return None
    return NotAllowedError(
        f"{state} is reserved for the bot, which keeps the manifests of versions there.",
        "Use a folder of your own team, for example s3://lake/team-a/results/.",
    )


def _granted(settings: Settings, use: StoreUse) -> str | None:
    """The narrowest place in the settings that lets a team use its place; None without one."""
    meant = Location.of(use.place)
    places = _places(settings, use.store, use.team, use.is_writing)
    granting = [each for each in places if Location.of(each).holds(meant)]
    return max(granting, key=len, default=None)


def _places(settings: Settings, store: str, team: str, is_writing: bool) -> tuple[str, ...]:  # noqa: FBT001 - private
    found = settings.stores.get(store)
    own = found.places.get(team, ()) if found is not None else ()
    return own if is_writing else (*own, *_shared(settings, store))


def _shared(settings: Settings, store: str) -> tuple[str, ...]:
    found = settings.stores.get(store)
    return found.shared if found is not None else ()


def _unreadable(
    session: Session, use: StoreUse, granted: str, dataset_id: str | None
) -> Iterator[Dataset]:
    """Overlapping datasets that the team may not use, except those wider than the granted place."""
    rows = session.exec(select(Dataset).where(col(Dataset.removed_at).is_(None)))
    for row in rows:
        is_wider = Location.of(row.source).holds(Location.of(granted)) and row.source != granted
        is_later = dataset_id is not None and row.id >= dataset_id
        if is_wider or is_later or row.is_for(use.team):
            continue
        if overlap(row.source, use.place):
            yield row
