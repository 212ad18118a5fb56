"""/dataset push: copies a folder of a PVC to an object store and records it as a version."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from bot.commands.context import Context
from bot.datasets.pushes.card import GRANT, STOP
from bot.datasets.pushes.plan import PushRequest, read
from bot.datasets.pushes.replies import CONFIRM, begun, dropped, expected, granted, offered
from bot.people.access import Right
from bot.slack.card import Reply
from bot.slack.grammar.declarations import CLUSTER, TEAM, Part
from bot.slack.grammar.parameters import matched
from bot.slack.grammar.slack_parameters import MessageLink, SharedMessage
from bot.slack.markup import plain
from handlers.dataset.catalogue import DatasetName, SourceUrl, StoreName, VersionName

dataset = Part("dataset")


class Folder(NamedTuple):
    """A folder of a PVC or of a snapshot; `path` starts at the root of the volume."""

    claim: str
    path: str
    snapshot: str = ""


class ClaimFolder:
    """`results:/run-7`, `results:/` for all of it, or `snapshot:monday:/run-7`."""

    word = "CLAIM:/PATH"
    form = (
        "a folder of a PVC such as `results:/run-7`, or `results:/` for the whole PVC, or a folder"
        " of a VolumeSnapshot such as `snapshot:monday:/run-7`"
    )
    example = "results:/run-7"
    rule = re.compile(r"(snapshot:)?([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?):(/[^:\s\x00]{0,500})")

    def read(self, text: str) -> Folder:
        """The PVC or snapshot, and the path without a trailing slash."""
        sort, name, path = matched(self.rule, text).groups()
        parts = [each for each in path.split("/") if each]
        if {".", ".."} & set(parts):
            raise ValueError(text)
        folder = f"/{'/'.join(parts)}"
        return Folder("", folder, name) if sort else Folder(name, folder)


class TargetUrl(SourceUrl):
    """A bucket and a folder in it to write to."""

    form = "a bucket and a folder in it such as `s3://lake/results/`, without `.`, `..` or `//`"
    example = "s3://lake/results/"


@dataclass(frozen=True)
class PushArguments:
    """The input of `/dataset push`; with `is_meant` it starts without confirmation."""

    source: Folder
    target: str
    dataset: str | None = None
    version: str | None = None
    note: str = ""
    store: str | None = None
    is_overwriting: bool = False
    is_meant: bool = False
    cluster: str | None = None


@dataset.verb(
    "push",
    "Copy a folder of a PVC or snapshot to an object store and record it as a version",
    right=Right.DATASET_PUSH,
    mutates=True,
    repeats=True,
    into=PushArguments,
    examples=(
        "push results:/run-7 s3://lake/run-7/",
        "push snapshot:monday:/run-7 s3://lake/run-7/",
        'push prep:/chest s3://lake/chest-xray/ --as chest-xray --name v4 --note "new labels"',
    ),
    team=TEAM,
    cluster=CLUSTER,
)
@dataset.argument("source", ClaimFolder(), help="PVC or snapshot, and the folder to copy")
@dataset.argument("target", TargetUrl(), help="Bucket and folder to copy to")
@dataset.option("--as", "dataset", DatasetName(), help="Dataset that the target is, or becomes")
@dataset.option("--name", "version", VersionName(), help="Name of the version")
@dataset.option("--note", default="", help="What is new in this version")
@dataset.option("--store", StoreName(), help="Object store, if there are several")
@dataset.option("--overwrite", "is_overwriting", flag=True, help="Replace objects that differ")
@dataset.option("--yes", "is_meant", flag=True, help="Start without confirmation")
def push(ctx: Context, asked: PushArguments) -> Reply:
    """Shows what would be pushed, with a button, or starts it."""
    request = PushRequest(
        claim=asked.source.claim,
        snapshot=asked.source.snapshot,
        folder=asked.source.path,
        target=asked.target,
        store=asked.store,
        dataset=asked.dataset,
        version=asked.version,
        note=asked.note,
        is_overwriting=asked.is_overwriting,
        team=ctx.team(asked.cluster)[0],
        cluster=asked.cluster or "",
    )
    if asked.is_meant:
        return begun(ctx.datasets.pushes.begin(ctx.session, ctx.caller, request, ctx.now))
    return offered(ctx.datasets.pushes.ask(ctx.session, ctx.caller, request))


def _of_wish(_ctx: Context, value: str) -> str:
    return read(value).team


@dataset.button(CONFIRM, right=Right.DATASET_PUSH, team=_of_wish, once=True)
def click_push(ctx: Context, value: str) -> Reply:
    """Starts the push that the card described."""
    return begun(ctx.datasets.pushes.begin(ctx.session, ctx.caller, read(value), ctx.now))


def _of_push(ctx: Context, push_id: str) -> str:
    return ctx.datasets.pushes.get(ctx.session, push_id).team


@dataclass(frozen=True)
class PutArguments:
    """The input of `/dataset put`."""

    dataset: str
    message: SharedMessage | None = None
    target: str | None = None
    version: str | None = None
    note: str = ""
    store: str | None = None
    is_overwriting: bool = False
    cluster: str | None = None


@dataset.verb(
    "put",
    "Push files from your computer or a Slack message to a dataset as a new version",
    right=Right.DATASET_PUSH,
    mutates=True,
    into=PutArguments,
    examples=(
        "put chest-xray",
        'put chest-xray --name v4 --note "new labels"',
        "put faces --to s3://lake/faces/",
        "put chest-xray --from https://acme.slack.com/archives/C0VISION/p1764230400000100",
    ),
    team=TEAM,
    cluster="Cluster whose Job receives them (default: that of the newest version)",
)
@dataset.argument("dataset", DatasetName(), help="Dataset that the files belong to")
@dataset.option("--from", "message", MessageLink(), help="Message of this channel with the files")
@dataset.option("--to", "target", TargetUrl(), help="Bucket and folder of a new dataset")
@dataset.option("--name", "version", VersionName(), help="Name of the version")
@dataset.option("--note", default="", help="What is new in this version")
@dataset.option("--store", StoreName(), help="Object store, if there are several")
@dataset.option("--overwrite", "is_overwriting", flag=True, help="Replace objects that differ")
def put(ctx: Context, asked: PutArguments) -> Reply:
    """Starts a push of a message's files, or from a computer by the command that its card shows."""
    request = PushRequest(
        claim="",
        folder="",
        target=asked.target or "",
        store=asked.store,
        dataset=asked.dataset,
        version=asked.version,
        note=asked.note,
        is_overwriting=asked.is_overwriting,
        team=ctx.team(asked.cluster)[0],
        cluster=asked.cluster or "",
    )
    row = ctx.datasets.pushes.put(ctx.session, ctx.caller, request, ctx.now, asked.message)
    return dropped(row) if row.is_drop else expected(row)


@dataset.button(GRANT, right=Right.DATASET_PUSH, team=_of_push, repeats=True)
def click_grant(ctx: Context, push_id: str) -> Reply:
    """Shows its requester alone how to push, with a grant that is kept nowhere."""
    found = ctx.datasets.pushes.get(ctx.session, push_id)
    push = ctx.datasets.pushes.granted(ctx.session, ctx.caller, found, ctx.now)
    reads = ctx.datasets.reads
    return Reply(later=lambda: granted(push, reads.grant(push)))


@dataset.button(STOP, right=Right.DATASET_PUSH, team=_of_push)
def click_stop(ctx: Context, push_id: str) -> Reply:
    """Stops a push."""
    found = ctx.datasets.pushes.get(ctx.session, push_id)
    row = ctx.datasets.pushes.stop(ctx.session, ctx.caller, found, ctx.now)
    return Reply((plain(f"Stopping the push of {row.source} to {row.target}."),))
