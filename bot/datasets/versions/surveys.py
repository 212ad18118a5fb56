"""Creates the row of a survey: what to list, by which Job, and where to write the manifest."""

from datetime import datetime

import msgspec

from bot.config import Datasets
from bot.database.columns import new_id
from bot.datasets.job import job_name
from bot.datasets.location import Location
from bot.datasets.selection import Selection
from bot.datasets.tables import CopyState, Dataset, Version
from bot.people.access import Caller


def new_survey(
    dataset: Dataset, datasets: Datasets, person: str, channel: str, now: datetime
) -> Version:
    """A new version without a name, not yet surveyed; `datasets` are those of its cluster."""
    row_id = new_id()
    return Version(
        id=row_id,
        workspace_id=dataset.workspace_id,
        dataset_id=dataset.id,
        dataset=dataset.name,
        name="",
        team=dataset.team,
        person=person,
        channel=channel,
        cluster=datasets.cluster,
        namespace=datasets.namespace,
        job_name=job_name(dataset.name, row_id),
        store=dataset.store,
        source=dataset.source,
        manifest_store=datasets.state_store,
        manifest=Location.of(datasets.state).below("manifests", row_id).url,
        asked_at=now,
        since=now,
    )


def new_selection(
    version: Version, datasets: Datasets, selection: Selection, caller: Caller, now: datetime
) -> Version:
    """A new version without a name that will have files of another one.

    Its manifest is beside that of the other one. If that has copies, they are its own too.
    """
    row_id = new_id()
    manifests = Location.of(version.manifest).url.rstrip("/").rpartition("/")[0]
    is_copied = version.copy_state == CopyState.MADE
    return Version(
        id=row_id,
        workspace_id=version.workspace_id,
        dataset_id=version.dataset_id,
        dataset=version.dataset,
        name="",
        team=version.team,
        person=caller.person,
        channel=caller.channel,
        cluster=datasets.cluster,
        namespace=datasets.namespace,
        job_name=job_name(version.dataset, row_id),
        store=version.store,
        source=version.source,
        manifest_store=version.manifest_store,
        manifest=Location.of(manifests).below(row_id).url,
        parents=[version.id],
        selected_from=version.id,
        selection=msgspec.to_builtins(selection),
        copies=version.copies if is_copied else "",
        copy_price=version.copy_price if is_copied else None,
        asked_at=now,
        since=now,
    )


def copies_of(dataset: Dataset, datasets: Datasets) -> str:
    """The folder of a dataset's copies, which all its versions share."""
    return Location.of(datasets.state).below("copies", dataset.id).url
