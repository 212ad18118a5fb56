"""Finds datasets and their versions by what people call them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import case, func
from sqlmodel import Session, col, select

from bot.datasets import subfolders
from bot.datasets.tables import CopyState, Dataset, Version, VersionPhase
from bot.errors import NotFoundError
from bot.slack.grammar.reading import closest
from bot.slack.markup import FormatCommand

_MOST_NAMED = 10


class Reference(NamedTuple):
    """The name of a dataset or of one of its versions: `chest-xray`, `chest-xray@v3`.

    With folders, it is that part of the version: `chest-xray@v3/train/`.
    """

    name: str
    version: str | None = None
    folders: tuple[str, ...] = ()

    @property
    def spelled(self) -> str:
        """The reference as it is written."""
        whole = self.name if self.version is None else f"{self.name}@{self.version}"
        return subfolders.spelled(whole, self.folders)


def reference_of(text: str) -> Reference:
    """The reference that is written like that."""
    whole, _, part = text.partition("/")
    name, _, version_name = whole.partition("@")
    return Reference(name, version_name or None, subfolders.outermost(subfolders.read(part)))


def present(session: Session, name: str) -> Dataset | None:
    """The dataset of that name, no matter who may use it."""
    return session.exec(
        select(Dataset).where(col(Dataset.name) == name, col(Dataset.removed_at).is_(None))
    ).first()


def visible(session: Session, team: str) -> list[Dataset]:
    """The datasets that a team may use, by name."""
    rows = session.exec(
        select(Dataset).where(col(Dataset.removed_at).is_(None)).order_by(col(Dataset.name))
    )
    return [row for row in rows if row.is_for(team)]


def dataset(session: Session, team: str, name: str, format_command: FormatCommand) -> Dataset:
    """The dataset of that name that a team may use; NotFoundError suggests a similar name."""
    found = present(session, name)
    if found is not None and found.is_for(team):
        return found
    known = [each.name for each in visible(session, team)]
    near = closest(name, known)
    if near:
        raise NotFoundError(f"There is no dataset {name} for {team}.", f"Did you mean {near}?")
    listed = ", ".join(known[:_MOST_NAMED])
    example = format_command("dataset add chest-xray s3://lake/chest-xray/")
    hint = f"Available: {listed}." if known else f"There are none yet. Add one: `{example}`."
    raise NotFoundError(f"There is no dataset {name} for {team}.", hint)


def version(
    session: Session, of: Dataset, name: str | None, format_command: FormatCommand
) -> Version:
    """The version of that name, or the newest without a name; NotFoundError suggests another."""
    ready = versions(session, of.id)
    found = newest(ready) if name is None else next((v for v in ready if v.name == name), None)
    if found is not None:
        return found
    record = f"`{format_command(f'dataset version {of.name}')}` records"
    if not ready:
        raise NotFoundError(f"{of.name} has no versions yet.", f"{record} the first version.")
    names = [each.name for each in ready]
    listed = ", ".join(names[:_MOST_NAMED])
    if name is None:
        raise NotFoundError(
            f"{of.name} has no version of its whole source yet.",
            f"{record} one. Its selections: {listed}.",
        )
    near = closest(name, names)
    hint = f"Did you mean {of.name}@{near}?" if near else f"Available: {listed}."
    raise NotFoundError(f"{of.name} has no version {name}.", hint)


def versions(session: Session, dataset_id: str) -> list[Version]:
    """The recorded versions of a dataset, newest first."""
    return list(
        session.exec(
            select(Version)
            .where(col(Version.dataset_id) == dataset_id, col(Version.phase) == VersionPhase.READY)
            .order_by(col(Version.id).desc())
        )
    )


def newest(ready: Iterable[Version]) -> Version | None:
    """The newest of these versions that has all files of the source; the newest come first."""
    return next((each for each in ready if not each.selected_from), None)


def latest_survey(session: Session, dataset_id: str) -> Version | None:
    """The last survey that a person or a push requested, however it ended."""
    return session.exec(
        select(Version)
        .where(
            col(Version.dataset_id) == dataset_id,
            col(Version.is_refresh).is_(False),
            col(Version.is_sweep).is_(False),
        )
        .order_by(col(Version.id).desc())
        .limit(1)
    ).first()


def latest_refresh(session: Session, dataset_id: str) -> Version | None:
    """The last check for new content; None if a version of the source was requested after it."""
    last = session.exec(
        select(Version)
        .where(
            col(Version.dataset_id) == dataset_id,
            col(Version.is_sweep).is_(False),
            col(Version.selected_from) == "",
        )
        .order_by(col(Version.id).desc())
        .limit(1)
    ).first()
    return last if last is not None and last.is_refresh else None


def live_survey(session: Session, dataset_id: str) -> Version | None:
    """The survey of a dataset that has not ended; None without one."""
    found = _live(session, dataset_id)
    return None if found is None or found.is_sweep else found


def live_sweep(session: Session, dataset_id: str) -> Version | None:
    """The removal of copies of a dataset that has not ended; None without one."""
    found = _live(session, dataset_id)
    return found if found is not None and found.is_sweep else None


def keeping(session: Session, sweep: Version) -> list[str]:
    """The manifests of the versions whose copies stay."""
    made = copied(session, sweep.dataset_id)
    where = sweep.copies, sweep.manifest_store
    return [
        each.manifest
        for each in made
        if each.copy_state == CopyState.MADE and (each.copies, each.manifest_store) == where
    ]


def latest_sweep(session: Session, dataset_id: str) -> Version | None:
    """The last removal of copies of a dataset, however it ended."""
    return session.exec(
        select(Version)
        .where(col(Version.dataset_id) == dataset_id, col(Version.is_sweep).is_(True))
        .order_by(col(Version.id).desc())
        .limit(1)
    ).first()


def _live(session: Session, dataset_id: str) -> Version | None:
    return session.exec(
        select(Version).where(
            col(Version.dataset_id) == dataset_id, col(Version.ended_at).is_(None)
        )
    ).first()


def copied(session: Session, dataset_id: str) -> list[Version]:
    """All rows of a dataset that made copies, or began to, newest first."""
    return list(
        session.exec(
            select(Version)
            .where(
                col(Version.dataset_id) == dataset_id,
                col(Version.copies) != "",
                col(Version.copy_state) != CopyState.NOT_NEEDED,
                col(Version.is_sweep).is_(False),
            )
            .order_by(col(Version.id).desc())
        )
    )


class Newest(NamedTuple):
    """The newest version of a dataset, and the number of versions; selections do not count."""

    version: Version
    versions: int


def newest_of_each(session: Session, datasets: Sequence[Dataset]) -> dict[str, Newest]:
    """The newest recorded version of each of these datasets that has one, by dataset id."""
    ids = [each.id for each in datasets]
    is_whole = case((col(Version.selected_from) == "", col(Version.id)))
    newest = (
        select(func.max(is_whole).label("id"), func.count(is_whole).label("versions"))
        .where(col(Version.dataset_id).in_(ids), col(Version.phase) == VersionPhase.READY)
        .group_by(col(Version.dataset_id))
        .subquery()
    )
    rows = session.exec(
        select(Version, newest.c.versions).join(newest, col(Version.id) == newest.c.id)
    )
    return {row.dataset_id: Newest(row, versions) for row, versions in rows}
