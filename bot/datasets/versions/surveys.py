"""Creates the row of a survey: what to list, by which Job, and where to write the manifest."""

from datetime import datetime

from bot.config import Datasets
from bot.database.columns import new_id
from bot.datasets.job import job_name
from bot.datasets.location import Location
from bot.datasets.tables import Dataset, Version


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


def copies_of(dataset: Dataset, datasets: Datasets) -> str:
    """The folder of a dataset's copies, which all its versions share."""
    return Location.of(datasets.state).below("copies", dataset.id).url
