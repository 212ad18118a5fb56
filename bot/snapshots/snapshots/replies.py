"""Ephemeral answers of the snapshot commands. Pure: no I/O."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from bot.datasets.wording import capacity
from bot.slack.card import Button, Card, Reply, Table
from bot.slack.markup import FormatCommand, Markup, code, join, person, plain, sentence, when
from bot.snapshots.schedules.replies import foreign_line
from bot.snapshots.snapshots.card import DELETE
from bot.snapshots.tables import Restore, Snapshot, SnapshotIntent, SnapshotPhase
from bot.snapshots.wording import mounting

_MOST_ROWS, _MOST_FOREIGN = 25, 10
_STATES = {
    SnapshotPhase.ASKED: "pending",
    SnapshotPhase.TAKING: "creating",
    SnapshotPhase.READY: "ready",
    SnapshotPhase.DELETING: "deleting",
}


def foreseen_snapshot(row: Snapshot) -> tuple[Markup, ...]:
    """What `snapshot create` would do, for its form."""
    what = join("It would take a snapshot of ", code(row.claim_name), plain(
        f", a PVC of {capacity(row.capacity_bytes)} on {row.storage_class}."))  # fmt: skip
    return (what, _kept(row))


def foreseen_restore(row: Restore, *, is_named: bool) -> tuple[Markup, ...]:
    """What `snapshot restore` or `clone` would create, for its form."""
    name = join("PVC ", code(row.claim_name)) if is_named else plain("a PVC with a new name")
    made = f" of {capacity(row.size_bytes)} on {row.storage_class}"
    how = ", read-only and without a copy" if row.is_read_only else ""
    place = f" in namespace {row.namespace}" if row.source_namespace is not None else ""
    return (
        join(
            "It would create ",
            name,
            plain(f"{made}{place} from "),
            code(row.source),
            plain(f"{how}."),
        ),
    )


def _kept(row: Snapshot) -> Markup:
    if row.keep_until is None:
        return plain("It is kept until it is deleted manually.")
    return join("It is kept until ", when(row.keep_until), ", or longer while it is the newest.")


def taking(row: Snapshot, format_command: FormatCommand) -> Reply:
    """The answer to `snapshot create`: the snapshot's name, and how long it is kept."""
    show = code(format_command(f"snapshot show {row.name}"))
    return Reply(
        (
            join("Taking a snapshot of ", code(row.claim_name), ": ", code(row.name), "."),
            join("Its card in this channel and ", show, " show the progress. ", _kept(row)),
        )
    )


def listed(
    whose: str,
    rows: Sequence[Snapshot],
    foreign: Sequence[str],
    schedules: Sequence[str],
    format_command: FormatCommand,
) -> Reply:
    """A table of a team's snapshots.

    `of_others` are snapshots and schedules created outside Quartermaster.
    """
    lines: list[Markup] = []
    if not rows:
        take = code(format_command("snapshot create results"))
        lines.append(join(plain(f"{whose} has no snapshots. Take one: "), take))
    if len(rows) > _MOST_ROWS:
        lines.append(plain(f"{len(rows) - _MOST_ROWS} older snapshots are not shown."))
    if foreign:
        named = ", ".join(foreign[:_MOST_FOREIGN])
        more = len(foreign) - _MOST_FOREIGN
        also = f" and {more} more" if more > 0 else ""
        lines.append(plain(f"Created outside Quartermaster and not managed here: {named}{also}."))
    if schedules:
        lines.append(foreign_line(schedules))
    table = Table(
        ("Snapshot", "PVC", "State", "Taken (UTC)", "Size", "Kept until (UTC)", "Note"),
        tuple(_cells(row) for row in rows[:_MOST_ROWS]),
    )
    return Reply(card=Card(f"Snapshots of {whose}", lines=tuple(lines),
                           table=table if rows else None))  # fmt: skip


def shown(card: Card, row: Snapshot, made: Sequence[Restore], lost: Sequence[str]) -> Reply:
    """One snapshot, with the PVCs created from it."""
    more = tuple(("Restored", _made(each)) for each in made)
    lines = tuple(sentence(each) for each in lost if row.is_live)
    return Reply(card=replace(card, facts=(*card.facts, *more), lines=(*card.lines, *lines)))


def question(row: Snapshot, lost: Sequence[str]) -> Reply:
    """What deleting a snapshot would lose, with the button that deletes it."""
    stays = row.deletion_policy == "Retain"
    store = (
        "The storage snapshot is kept and billed: the deletion policy of its class is Retain."
        if stays
        else "The storage snapshot is deleted too."
    )
    lines = (
        join("Deleting ", code(row.name), plain(f" loses the state of {row.claim_name} that it"
             f" holds. This cannot be undone. {store}")),
        *(sentence(each) for each in lost),
    )  # fmt: skip
    button = Button(DELETE, "Delete", row.id, "danger")
    return Reply(lines, buttons=(button,), is_question=True)


def leaving(row: Snapshot) -> Reply:
    """The answer to a click on Delete."""
    return Reply((join("Deleting ", code(row.name), ". Its card shows the progress."),))


def pinned(row: Snapshot, until: datetime, format_command: FormatCommand) -> Reply:
    """The answer to `snapshot pin`: until when the snapshot is pinned."""
    undo = code(format_command(f"snapshot unpin {row.name}"))
    return Reply(
        (
            join(code(row.name), " is pinned until ", when(until),
                 " and cannot be deleted before then."),
            join(undo, " removes the pin."),
        )
    )  # fmt: skip


def unpinned(row: Snapshot, people: Sequence[str]) -> Reply:
    """The answer to `snapshot unpin`: whose pins were removed."""
    whose = [join(", " if number else "", person(who)) for number, who in enumerate(people)]
    return Reply((join(code(row.name), " is no longer pinned by ", *whose, "."),))


def restoring(row: Restore) -> Reply:
    """The answer to `snapshot restore` and `snapshot clone`."""
    option = code(mounting(row.claim_name, is_read_only=row.is_read_only))
    return Reply(
        (
            join("Creating PVC ", code(row.claim_name), " from ", code(row.source), "."),
            join("Its card in this channel shows the progress. Then mount it with ", option, "."),
        )
    )


def _cells(row: Snapshot) -> tuple[str, ...]:
    state = _STATES.get(SnapshotPhase(row.phase), row.phase)
    if row.wanted == SnapshotIntent.DELETED:
        state = _STATES[SnapshotPhase.DELETING]
    return (
        row.name,
        row.claim_name,
        state,
        _moment(row.taken_at),
        capacity(row.size_bytes) if row.size_bytes is not None else "",
        _moment(row.keep_until),
        f"end of {row.run}. {row.note}".strip() if row.run else row.note,
    )


def _moment(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment is not None else ""


def _made(row: Restore) -> Markup:
    for_run = f" for run {row.run}" if row.run else ""
    return join(code(row.claim_name), plain(f"{for_run}, {row.phase}"))
