"""Runs `quartermaster survey`, fill, verify, finish, push and receive, with their exit codes."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

from bot.datasets.worker import push as pushing
from bot.datasets.worker import reading, surveying
from bot.datasets.worker.copies import (
    CopiedObjects,
    CopyFolder,
    EngineWithCopies,
    VerifierWithCopies,
)
from bot.datasets.worker.copying import Ways
from bot.datasets.worker.cpus import workers
from bot.datasets.worker.failures import WORTH_REPEATING, WorkError, wrong_input
from bot.datasets.worker.fill import Order, Shard, fill, finish
from bot.datasets.worker.options import CopyOptions, FillOptions, ReadOptions, Stores
from bot.datasets.worker.part_shelf import parted
from bot.datasets.worker.presigned import receiving
from bot.datasets.worker.progress import CopyProgress, reported, say, say_failure
from bot.datasets.worker.stores.client import StoreClient
from bot.datasets.worker.stores.registry import (
    Settings,
    connected,
    read_address,
    read_settings,
)
from bot.datasets.worker.stores.settings import Address
from bot.datasets.worker.stores.uploads import give_back_large_blocks
from bot.datasets.worker.survey import Shelf, say_written, survey
from bot.datasets.worker.sweep import Sweeper, SweepOrder
from bot.datasets.worker.tree import Tree
from bot.datasets.worker.verifying import Verifier
from bot.datasets.worker.volume import Ownership, TargetFolder


def run_survey(options: Mapping[str, Any]) -> None:
    """Lists the source and writes its manifest; on failure exits with 65 or 75."""
    left = dict(options)
    copies = CopyOptions(left.pop("copies"), left.pop("copies_store"))
    stores = Stores(**left)

    def work() -> None:
        source, client = source_of(stores)
        progress = CopyProgress("listing")
        with reported(progress):
            if copies.place:
                index, copied = surveying.survey_and_copy(_to_copy(stores, copies), progress)
            else:
                index, copied = survey(client, source, shelf_of(stores), progress), {}
        say_written(index, progress, copied)

    to_the_end(work)


def _to_copy(stores: Stores, copies: CopyOptions) -> surveying.SurveyOrder:
    source, client = source_of(stores)
    where, place = _copies(copies)
    folder = connected(where, place.bucket, stores.patience_seconds)
    is_same = where == read_settings(stores.source_store, "--source-store")
    server = folder.server_copies(source, place.prefix) if is_same else None
    count = workers()
    return surveying.SurveyOrder(
        client, source, shelf_of(stores), CopyFolder(folder, place.prefix, server), count,
        stores.patience_seconds,
    )  # fmt: skip


def _copies(options: CopyOptions) -> tuple[Settings, Address]:
    where = read_settings(options.store, "--copies-store")
    return where, read_address(options.place, where, "--copies")


def run_sweep(options: Mapping[str, Any]) -> None:
    """Deletes copies that no version needs; on failure exits with 65 or 75."""

    def work() -> None:
        where, place = _copies(CopyOptions(options["copies"], options["copies_store"]))
        patience = options["patience_seconds"]
        kept = [read_address(each, where, "--keep") for each in options["keep"]]
        shelves = (Shelf(connected(where, each.bucket, patience), each.prefix) for each in kept)
        client = connected(where, place.bucket, patience)
        progress = CopyProgress("removing")
        sweeper = Sweeper(
            SweepOrder(client, place.prefix, tuple(shelves), workers(), patience), progress
        )
        with reported(progress):
            sweeper.run()
        say(
            {
                "event": "done",
                "phase": progress.phase,
                "objects": sweeper.kept_files,
                "bytes": sweeper.kept_bytes,
                "seconds": progress.seconds,
                "removed_files": progress.files_done,
                "removed_bytes": progress.bytes_done,
            }
        )

    to_the_end(work)


def run_fill(options: Mapping[str, Any]) -> None:
    """Copies a manifest's objects; on failure exits with 65 or 75."""

    def work() -> None:
        stores, asked = _read(options)
        order = _order(stores, asked)
        ways, copies = ways_of(stores, CopyOptions(asked.copies, asked.copies_store), asked)
        progress = CopyProgress("copying")
        with reported(progress), parted(shelf_of(stores), asked.only) as shelf:
            result = fill(replace(order, shelf=shelf), ways, progress)
        say(
            {
                "event": "done",
                "phase": progress.phase,
                "digest": result.index.digest,
                "objects": result.index.objects,
                "bytes": result.index.bytes,
                "seconds": progress.seconds,
                "copied_files": result.copied_files,
                "copied_bytes": result.copied_bytes,
                "verified_by": dict(ways.verifier.counts),
                "verified_bytes": dict(ways.verifier.bytes),
                "ready": result.is_ready,
                "engine": ways.engine.name,
                **({"files": result.growing} if result.growing else {}),
                **({"from_copies": copies.used} if copies else {}),
            }
        )

    to_the_end(work)


def ways_of(
    stores: Stores, asked: CopyOptions, reading: ReadOptions
) -> tuple[Ways, CopiedObjects | None]:
    """How objects of a source are read and verified, and the copies that are read instead."""
    source, client = source_of(stores)
    engine = client.engine(reading.engine, source.prefix, reading.workers)
    if not asked.place:
        return Ways(engine, Verifier(client, source.prefix)), None
    where, place = _copies(asked)
    folder = connected(where, place.bucket, stores.patience_seconds)
    copies = CopiedObjects(
        CopyFolder(folder, place.prefix),
        folder.engine(reading.engine, place.prefix, reading.workers),
    )
    verifier = VerifierWithCopies(client, source.prefix, copies)
    return Ways(EngineWithCopies(engine, copies), verifier), copies


def _order(stores: Stores, asked: FillOptions) -> Order:
    share = Shard(asked.shard, asked.shards)
    if not 0 <= share.shard < share.shards:
        raise wrong_input(
            f"Shard {share.shard} is not one of {share.shards}.", "Shards are counted from 0."
        )
    volume = TargetFolder(asked.target, asked.digest, asked.ownership)
    patience = stores.patience_seconds
    return Order(
        asked.digest, shelf_of(stores), volume, share, asked.workers, patience, asked.keep_open
    )


def run_verify(options: Mapping[str, Any]) -> None:
    """Reads files and compares them with the version; on failure exits with 65 or 75."""

    def work() -> None:
        left = dict(options)
        root, digest = left.pop("target"), left.pop("digest")
        count = worker_count(left.pop("workers"))
        stores = Stores(**left)
        source, client = source_of(stores)
        verifier = Verifier(client, source.prefix)
        order = reading.Order(digest, shelf_of(stores), root, count, stores.patience_seconds)
        progress = CopyProgress("verifying")
        with reported(progress):
            index = reading.verify(order, verifier, progress)
        say(
            {
                "event": "done",
                "phase": progress.phase,
                "digest": index.digest,
                "objects": index.objects,
                "bytes": index.bytes,
                "seconds": progress.seconds,
                "verified_by": dict(verifier.counts),
                "verified_bytes": dict(verifier.bytes),
                "ready": True,
            }
        )

    to_the_end(work)


def run_finish(options: Mapping[str, Any]) -> None:
    """Makes a tree ready that fill kept open; on failure exits with 65 or 75."""

    def work() -> None:
        volume = TargetFolder(options["target"], options["digest"], Ownership())
        progress = CopyProgress("finishing")
        with reported(progress):
            finish(volume)
        say(
            {
                "event": "done",
                "phase": progress.phase,
                "digest": options["digest"],
                "seconds": progress.seconds,
                "ready": True,
            }
        )

    to_the_end(work)


def run_push(options: Mapping[str, Any]) -> None:
    """Copies a folder to an object store; on failure exits with 65 or 75."""

    def work() -> None:
        give_back_large_blocks()
        where = read_settings(options["target_store"], "--target-store")
        target = read_address(options["target"], where, "--target")
        patience = options["patience_seconds"]
        count = worker_count(options["workers"])
        client = connected(where, target.bucket, patience)
        order = pushing.Order(
            Tree(options["source"]), target, count, patience, options["overwrite"]
        )
        verifier = Verifier(client, target.prefix, are_ours=True)
        ways = pushing.Ways(client, client.uploader(target.prefix), verifier)
        progress = CopyProgress("listing")
        with reported(progress):
            result = pushing.push(order, ways, progress)
        say(
            {
                "event": "done",
                "phase": progress.phase,
                "objects": result.files,
                "bytes": result.bytes,
                "seconds": progress.seconds,
                "copied_files": result.copied_files,
                "copied_bytes": result.copied_bytes,
                "verified_by": dict(verifier.counts),
                "verified_bytes": dict(verifier.bytes),
                "links": result.links,
                "others": result.others,
            }
        )

    to_the_end(work)


def run_receive(options: Mapping[str, Any]) -> None:
    """Lets a person's computer push a folder; on failure exits with 65 or 75."""

    def work() -> None:
        where = read_settings(options["target_store"], "--target-store")
        target = read_address(options["target"], where, "--target")
        of_box = read_settings(options["box_store"], "--box-store")
        box = read_address(options["box"], of_box, "--box")
        patience, stopped = options["patience_seconds"], threading.Event()
        # Unlike the other workers it takes its grant back before it ends.
        signal.signal(signal.SIGTERM, lambda *_: stopped.set())
        order = receiving.ReceiveOrder(
            receiving.Box(connected(of_box, box.bucket, patience), box.prefix),
            connected(where, target.bucket, patience),
            target,
            timedelta(seconds=options["lasts_seconds"]),
            overwrite=options["overwrite"],
        )
        progress = CopyProgress("waiting")
        receiver = receiving.Receiver(order, progress, stopped)
        receiver.begin()
        with reported(progress):
            result = receiver.run()
        say(
            {
                "event": "done",
                "phase": progress.phase,
                "objects": result.files,
                "bytes": result.bytes,
                "seconds": progress.seconds,
                "copied_files": result.copied_files,
                "copied_bytes": result.copied_bytes,
                "verified_by": result.verified_by,
                "verified_bytes": result.verified_bytes,
                "links": {"count": result.links, "first": []},
                "others": result.others,
            }
        )

    to_the_end(work)


def _read(options: Mapping[str, Any]) -> tuple[Stores, FillOptions]:
    of_stores = {field.name for field in fields(Stores)}
    left = {name: value for name, value in options.items() if name not in of_stores}
    owner = Ownership(
        left.pop("uid"), left.pop("gid"), _number(left.pop("umask"), 8, "--umask", "0022")
    )
    count = worker_count(left.pop("workers"))
    stores = Stores(**{name: options[name] for name in of_stores})
    return stores, FillOptions(ownership=owner, workers=count, **left)


def worker_count(text: str) -> int:
    """The number of workers; auto depends on the available CPUs."""
    if text == "auto":
        return workers()
    return max(1, _number(text, 10, "--workers", "auto or 32"))


def _number(text: str, digits: int, option: str, example: str) -> int:
    try:
        number = int(text, digits)
    except ValueError:
        number = -1
    if number < 0:
        raise wrong_input(f"{option} is not a number: {text}.", f"For example: {option} {example}")
    return number


def source_of(stores: Stores) -> tuple[Address, StoreClient]:
    """The source that the options name, and its store."""
    where = read_settings(stores.source_store, "--source-store")
    source = read_address(stores.source, where, "--source")
    return source, connected(where, source.bucket, stores.patience_seconds)


def shelf_of(stores: Stores) -> Shelf:
    """The place of the manifest that the options name."""
    where = read_settings(stores.manifest_store, "--manifest-store")
    place = read_address(stores.manifest, where, "--manifest")
    return Shelf(connected(where, place.bucket, stores.patience_seconds), place.prefix)


def to_the_end(work: Callable[[], None]) -> None:
    """Does the work of a Job; on failure reports it, and exits with 65 or 75."""
    # PID 1 of a container ignores SIGTERM without a handler. The work may be killed at any time.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(WORTH_REPEATING))
    try:
        work()
    except WorkError as error:
        say_failure(error)
        sys.exit(error.exit_code)
