"""`quartermaster select`, as its Job calls it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bot.datasets.selection import Label, label_of
from bot.datasets.worker.command import shelf_of, to_the_end, ways_of
from bot.datasets.worker.failures import wrong_input
from bot.datasets.worker.options import CopyOptions, ReadOptions, Stores
from bot.datasets.worker.progress import CopyProgress, reported
from bot.datasets.worker.selecting import SelectOrder, select
from bot.datasets.worker.survey import say_written
from bot.datasets.worker.surveying import MADE


def run_select(options: Mapping[str, Any]) -> None:
    """Writes the manifest of the selected files; on failure exits with 65 or 75."""
    left = dict(options)
    copies = CopyOptions(left.pop("copies"), left.pop("copies_store"))
    digest, of = left.pop("digest"), left.pop("of")
    paths, labels, where = (left.pop(name) for name in ("paths", "labels", "where"))
    stores = Stores(**left)

    def work() -> None:
        ways, _ = ways_of(stores, copies, ReadOptions())
        order = SelectOrder(
            digest=digest,
            whole=shelf_of(replace(stores, manifest=of)),
            shelf=shelf_of(stores),
            ways=ways,
            paths=paths,
            labels=labels,
            where=[_label(each) for each in where],
        )
        progress = CopyProgress("listing")
        with reported(progress):
            index = select(order, progress)
        # Each of the whole version's objects has a copy.
        say_written(index, progress, {"copy": MADE} if copies.place else {})

    to_the_end(work)


def _label(text: str) -> Label:
    try:
        return label_of(text)
    except ValueError:
        raise wrong_input(
            f"--label does not read: {text}.", "For example: --label split=train"
        ) from None
