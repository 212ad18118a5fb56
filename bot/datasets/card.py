"""Builds the cards of datasets and versions. Only the renderer reads rows."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.clock import Clock
from bot.config import Datasets, Settings
from bot.datasets import finding
from bot.datasets import selection as selecting
from bot.datasets.caches import finding as caching
from bot.datasets.caches.card import described, last_use, where
from bot.datasets.caches.tables import Cache, VersionUse
from bot.datasets.clusters import shown
from bot.datasets.tables import VERSION, Dataset, Version, VersionPhase
from bot.datasets.versions import copies
from bot.datasets.wording import name_of, objects, readers, short, size
from bot.durations import format_duration
from bot.slack.card import Card, Progress, Table, Tone
from bot.slack.markup import Markup, code, join, plain, sentence, when

_TONES = {
    VersionPhase.ASKED: Tone.WAITING,
    VersionPhase.STARTING: Tone.WAITING,
    VersionPhase.LISTING: Tone.WORKING,
    VersionPhase.COPYING: Tone.WORKING,
    VersionPhase.READY: Tone.GOOD,
    VersionPhase.UNCHANGED: Tone.QUIET,
    VersionPhase.CHANGED: Tone.QUIET,
    VersionPhase.REMOVED: Tone.QUIET,
    VersionPhase.FAILED: Tone.BAD,
}
_VERSIONS = ("Version", "Objects", "Size", "Digest", "Age", "By", "Note")
_DATASETS = ("Dataset", "Owner", "Newest", "Objects", "Size", "Age", "Cached", "Last use")
_MOST_KEYS = 10
_UNFIT = (
    "for example because they contain `..`, or because another key needs them as a folder."
    " This version cannot be copied as it is."
)
_LONGEST_NOTE = 60


class VersionRenderer:
    """Renders versions."""

    kind = VERSION

    def __init__(self, clock: Clock, settings: Callable[[], Settings]) -> None:
        self._clock = clock
        self._settings = settings

    def card(self, session: Session, subject_id: str, channel: str) -> Card | None:
        """The version's card; the same in every channel."""
        del channel
        version = session.get(Version, subject_id)
        if version is None:
            return None
        found = around(session, version, self._settings().datasets)
        return version_card(version, found, self._clock.now())


@dataclass(frozen=True)
class VersionContext:
    """What a version's card shows besides its row: names of people and of other versions.

    `parents` are versions of the same dataset, `made_from` versions of other datasets. `cluster` is
    that of its Job, if there are several.
    """

    person: str
    cluster: str = ""
    parents: tuple[str, ...] = ()
    made_from: tuple[str, ...] = ()
    same_as: str = ""
    caches: tuple[Cache, ...] = ()
    uses: tuple[Sequence[VersionUse], int] = ((), 0)


@dataclass(frozen=True)
class Shelf:
    """A dataset with its versions, the newest first; `people` are names by Slack id.

    `refresh` is the last check for new content, if nothing was recorded after it.
    """

    dataset: Dataset
    versions: Sequence[Version]
    people: dict[str, str]
    survey: Version | None = None
    caches: Sequence[Cache] = ()
    refresh: Version | None = None


@dataclass(frozen=True)
class Entry:
    """A dataset as a list shows it; `versions` is how many it has."""

    dataset: Dataset
    newest: Version | None
    versions: int
    caches: Sequence[Cache]


def version_card(version: Version, around: VersionContext, now: datetime) -> Card:
    """The card of a version at this moment."""
    phase = VersionPhase(version.phase)
    is_hindered = version.is_live and (version.trouble or version.obstacle or version.is_late)
    is_going = phase in {VersionPhase.LISTING, VersionPhase.COPYING}
    return Card(
        title=_title(version),
        state=_state(version, phase, now),
        tone=Tone.WARNING if is_hindered or version.problems else _TONES[phase],
        lines=(*_lines(version, around), *(described(each, now) for each in around.caches)),
        facts=tuple(_facts(version, around, now)),
        progress=_progress(version) if is_going else None,
    )


def dataset_card(shelf: Shelf, words: str, now: datetime) -> Card:
    """The card of a dataset; `words` is the command that records a version."""
    dataset, versions = shelf.dataset, shelf.versions
    rows = tuple(_version_row(each, shelf, now) for each in versions)
    facts: list[tuple[str, Markup]] = [
        ("Owner", plain(dataset.team)),
        ("Readers", plain(readers(dataset))),
        ("Source", code(dataset.source)),
        ("Store", code(dataset.store)),
        ("Added by", plain(shelf.people.get(dataset.person, dataset.person))),
        ("Added", when(dataset.added_at)),
    ]
    lines = [sentence(dataset.description)] if dataset.description else []
    lines += _about_survey(shelf.survey) if shelf.refresh is None else _about_refresh(shelf)
    lines += [described(each, now) for each in shelf.caches]
    if not rows:
        lines.append(join("No versions yet. ", code(words), " records the first version."))
    table = Table(_VERSIONS, rows) if rows else None
    return Card(dataset.name, lines=tuple(lines), facts=tuple(facts), table=table)


def list_card(team: str, entries: Sequence[Entry], words: str, now: datetime) -> Card:
    """The card that lists a team's datasets; `words` is an example that adds one."""
    title = f"Datasets for {team}"
    if not entries:
        return Card(title, lines=(plain("No datasets yet. Add one:"), code(words)))
    rows = tuple(_dataset_row(each, now) for each in entries)
    return Card(title, table=Table(_DATASETS, rows))


def _title(version: Version) -> str:
    if not version.is_sweep:
        return version.reference
    return f"Copy of {version.reference}" if version.name else f"Copies of {version.dataset}"


def _state(version: Version, phase: VersionPhase, now: datetime) -> str:
    lasting = format_duration(max(now - version.since, now - now))
    match phase:
        case VersionPhase.ASKED | VersionPhase.STARTING:
            return "Starting"
        case VersionPhase.LISTING:
            return f"{_doing(version)} for {lasting}"
        case VersionPhase.COPYING:
            return f"Copying for {lasting}"
        case VersionPhase.READY:
            return "Recorded"
        case VersionPhase.UNCHANGED | VersionPhase.CHANGED | VersionPhase.REMOVED:
            return phase.capitalize()
        case VersionPhase.FAILED:
            return "Not removed" if version.is_sweep else "Not recorded"


def _doing(version: Version) -> str:
    if version.is_sweep:
        return "Removing"
    return "Selecting" if version.selected_from else "Listing"


def _progress(version: Version) -> Progress:
    if version.phase == VersionPhase.COPYING:
        whole = f"objects, {size(version.bytes_seen)} of {size(version.size_bytes or 0)}"
        return Progress(version.objects_seen, version.objects, whole)
    so_far = f"object{'' if version.objects_seen == 1 else 's'}, {size(version.bytes_seen)} so far"
    return Progress(version.objects_seen, None, so_far)


def _lines(version: Version, around: VersionContext) -> Iterator[Markup]:
    if around.same_as:
        same = (f"{around.same_as} has these files already" if version.selected_from
                else f"No changes since {around.same_as}: the content is the same")  # fmt: skip
        yield plain(f"{same}, so the name {version.name} is still free.")
    for line in (version.reason, version.unblock, version.obstacle):
        if line:
            yield sentence(line)
    if version.problems:
        yield plain(f"{_keys(version.problems)} cannot be stored as files, {_UNFIT}")
    if version.keys:
        yield join("First keys: ", *_joined(version.keys[:_MOST_KEYS]))
    if version.is_live and version.is_late:
        yield plain("Late: its pod should have started by now.")
    if version.trouble:
        yield sentence(f"{version.trouble} Retrying.")


def _keys(count: int) -> str:
    return f"{count:,} key{'' if count == 1 else 's'}"


def _joined(keys: Sequence[str], between: str = ", ") -> Iterator[Markup]:
    for number, key in enumerate(keys):
        yield join(between if number else "", code(key))


def _facts(version: Version, around: VersionContext, now: datetime) -> Iterator[tuple[str, Markup]]:
    if version.is_sweep:
        yield from _sweep_facts(version, around)
        return
    yield "Source", code(version.source)
    yield "Store", code(version.store)
    yield from _selected(version)
    yield from _requested(version, around)
    if version.phase == VersionPhase.LISTING and (rate := _rate(version, now)):
        yield "Rate", plain(rate)
    if version.objects is not None and version.size_bytes is not None:
        yield "Objects", plain(f"{version.objects:,}")
        yield "Size", plain(f"{size(version.size_bytes)} ({version.size_bytes:,} bytes)")
    if version.ended_at is not None and version.started_at is not None:
        yield "Duration", plain(format_duration(version.ended_at - version.started_at))
    if version.digest:
        yield "Digest", code(version.digest)
    yield from copies.facts(version)
    yield from _origin(version, around)
    newest, count = around.uses
    if newest:
        yield "Read by", join(*_readers_of(newest, count - len(newest)))


def _requested(version: Version, around: VersionContext) -> Iterator[tuple[str, Markup]]:
    """Where its Job runs, and for whom."""
    if around.cluster:
        yield "Cluster", plain(around.cluster)
    yield "Requested by", plain(around.person)
    yield "Requested", when(version.asked_at)


def _selected(version: Version) -> Iterator[tuple[str, Markup]]:
    """The version whose files it has, and which of them."""
    selection = selecting.read(version.selection)
    if selection is not None:
        yield "Selected from", code(f"{version.dataset}@{selection.of}")
    if selection is not None and selection.paths:
        yield "Paths", join(*_joined(selection.paths, " or "))
    if selection is not None and selection.where:
        by = code(selection.labels)
        yield "Labels", join(*_joined(selection.where, " and "), ", by ", by)


def _sweep_facts(version: Version, around: VersionContext) -> Iterator[tuple[str, Markup]]:
    """What a removal of copies deletes where, and what it deleted."""
    yield "Copied to", code(version.copies)
    yield "Store", code(version.manifest_store)
    yield from _requested(version, around)
    if version.phase == VersionPhase.REMOVED:
        yield "Result", plain(copies.removed(version))


def _origin(version: Version, around: VersionContext) -> Iterator[tuple[str, Markup]]:
    """The versions and runs that it came from, and its note."""
    if around.parents:
        yield "Parents", plain(", ".join(around.parents))
    if around.made_from:
        yield "Derived from", join(*_joined(around.made_from))
    if version.made_by:
        yield "Produced by", plain(", ".join(version.made_by))
    if version.note:
        yield "Note", plain(version.note)


def _readers_of(newest: Sequence[VersionUse], others: int) -> Iterator[Markup]:
    """The last readers, each with the time at which it began to read."""
    for number, each in enumerate(newest):
        yield join(", " if number else "", plain(f"{each.who} "), when(each.at))
    if others:
        yield plain(f" and {others:,} more")


def _rate(version: Version, now: datetime) -> str:
    """Objects a second since the pod began; empty before anything is known."""
    begun = version.started_at or now
    seconds = ((version.read_at or now) - begun).total_seconds()
    return f"{version.objects_seen / seconds:,.0f} objects/s" if seconds >= 1 else ""


def _about_survey(survey: Version | None) -> list[Markup]:
    """The state of the last requested survey, if it did not record a version."""
    if survey is None or survey.phase == VersionPhase.READY:
        return []
    if survey.is_live:
        seen = f": {objects(survey.objects_seen)} so far" if survey.objects_seen else ""
        return [plain(f"Recording {survey.name}{seen}.")]
    if survey.phase == VersionPhase.UNCHANGED and survey.selected_from:
        return []
    if survey.phase == VersionPhase.UNCHANGED and survey.ended_at is not None:
        return [join("No changes were found ", when(survey.ended_at), ".")]
    return [sentence(f"{survey.name} could not be recorded. {survey.reason}")]


def _about_refresh(shelf: Shelf) -> list[Markup]:
    """The result of the last check for new content; nothing while one is running."""
    seen = shelf.refresh
    newest = finding.newest(shelf.versions)
    if seen is None or seen.ended_at is None or newest is None:
        return []
    at = when(seen.ended_at)
    if seen.phase == VersionPhase.FAILED:
        return [join("The source could not be checked ", at, ". ", sentence(seen.reason))]
    if seen.phase == VersionPhase.CHANGED:
        amount = f"{objects(seen.objects or 0)}, {size(seen.size_bytes or 0)}"
        return [join(f"The source has changed since {newest.name}: {amount}, checked ", at, ".")]
    same = next((each for each in shelf.versions if each.id == seen.same_as), newest)
    if same is not newest:
        return [join(f"The source had the content of {same.name} when it was checked ", at, ".")]
    return [join(f"The source had not changed since {newest.name} when it was checked ", at, ".")]


def _version_row(version: Version, shelf: Shelf, now: datetime) -> tuple[str, ...]:
    selection = selecting.read(version.selection)
    note = version.note or (f"Selected from {selection.of}" if selection is not None else "")
    return (
        version.name,
        f"{version.objects or 0:,}",
        size(version.size_bytes or 0),
        short(version.digest or ""),
        _age(version, now),
        shelf.people.get(version.person, version.person),
        note if len(note) <= _LONGEST_NOTE else f"{note[:_LONGEST_NOTE]}…",
    )


def _dataset_row(entry: Entry, now: datetime) -> tuple[str, ...]:
    dataset, newest, caches = entry.dataset, entry.newest, entry.caches
    used = max(caches, key=lambda each: each.last_used_at, default=None)
    cached = where(caches) if caches else "no"
    kept = (cached, last_use(used, now) if used is not None else "")
    if newest is None:
        return (dataset.name, dataset.team, "none yet", "unknown", "unknown", "", *kept)
    more = f" and {entry.versions - 1} older" if entry.versions > 1 else ""
    return (
        dataset.name,
        dataset.team,
        f"{newest.name}{more}",
        f"{newest.objects or 0:,}",
        size(newest.size_bytes or 0),
        _age(newest, now),
        *kept,
    )


def _age(version: Version, now: datetime) -> str:
    return format_duration(max(now - (version.ended_at or now), now - now))


def around(session: Session, version: Version, datasets: Datasets | None) -> VersionContext:
    """What a version's card shows besides its row."""
    same = [version.same_as] if version.same_as else []
    parents = list(_found(session, version.parents))
    own = version.dataset_id
    return VersionContext(
        person=name_of(session, version.workspace_id, version.person),
        cluster=shown(datasets, version.cluster),
        parents=tuple(each.name for each in parents if each.dataset_id == own),
        made_from=tuple(each.reference for each in parents if each.dataset_id != own),
        same_as=next((each.name for each in _found(session, same)), ""),
        caches=tuple(caching.anywhere(session, version.id)),
        uses=caching.uses(session, version.id),
    )


def _found(session: Session, ids: Iterable[str]) -> Iterator[Version]:
    for each in ids:
        found = session.get(Version, each)
        if found is not None:
            yield found
