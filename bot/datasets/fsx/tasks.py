"""Starts the tasks of caches, and finds one again whose start was not recorded."""

from bot.cluster import labels
from bot.datasets.fsx.answers import Task, TaskKind
from bot.datasets.fsx.client import Fsx, NewTask
from bot.datasets.fsx.tables import Import
from bot.datasets.wording import files


def begun(fsx: Fsx, imported: Import, kind: TaskKind, installation: str) -> Task | None:
    """The task of a cache, started now if necessary; None while another task runs.

    A cache has one task of each kind. It is first looked up by its tags, because FSx does not
    document how long it remembers tokens.
    """
    tags = {labels.DATASET_CACHE: imported.cache_id, labels.INSTALLATION: installation}
    for task in fsx.tasks(imported.file_system):
        if task.kind == kind and tags.items() <= task.tags.items():
            return task
    is_import = kind is TaskKind.IMPORT
    path = imported.objects.rstrip("/") if is_import else imported.folder
    token = f"{imported.cache_id}-{'import' if is_import else 'release'}"
    return fsx.begin(NewTask(kind, imported.file_system, path, token, tags))


def progress(task: Task) -> str:
    """How far a task is, as the end of a sentence."""
    count = f"{task.succeeded:,} of {files(task.total)}" if task.total else "no files yet"
    return f"{task.id} is {task.lifecycle}, {count}"


def failure(task: Task) -> str:
    """How a task failed, as a sentence."""
    if task.lifecycle == "FAILED":
        counts = f" {task.failed:,} of {files(task.total)} failed." if task.failed else ""
        return f"FSx task {task.id} failed.{counts} {task.why}".rstrip()
    return f"FSx task {task.id} was ended outside Quartermaster ({task.lifecycle})."
