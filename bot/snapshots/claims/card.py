"""The answers of `/pvc`: a table of a team's PVCs, and one PVC in detail. Pure: no I/O."""

from collections import Counter
from collections.abc import Iterator, Sequence

from bot.cluster import labels
from bot.cluster.types.claims import PersistentVolumeClaim
from bot.masking import without_mentions
from bot.slack.card import Card, Table, Tone
from bot.slack.markup import FormatCommand, Markup, code, join, person, plain, when
from bot.snapshots.claims.found import (
    ClaimDetails,
    ClaimRun,
    ClaimSummary,
    LevelFound,
    TeamClaims,
)
from bot.snapshots.claims.users import ClaimUser
from bot.snapshots.schedules.card import covered, kept
from bot.volumes.wording import UNKNOWN, capacity, money, throughput, used

_MOST_ROWS, _MOST_NAMED, _MOST_USERS = 40, 5, 3
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_HEADER = ("PVC", "Size", "Class", "Access", "Mounted by", "Snapshots")
_LEVEL, _COST = "Level", "Monthly cost"


def claims_card(found: TeamClaims, format_command: FormatCommand) -> Card:
    """The PVCs of a team; levels and costs have columns if any is known."""
    shown = found.rows[:_MOST_ROWS]
    has_levels = any(each.level is not None for each in found.rows)
    has_costs = any(each.cost is not None for each in found.rows)
    header = (*_HEADER, *((_LEVEL,) if has_levels else ()), *((_COST,) if has_costs else ()))
    rows = tuple(
        (
            *_cells(each, is_wide=found.is_wide),
            *((each.level.volume.level if each.level else "",) if has_levels else ()),
            *((money(each.cost),) if has_costs else ()),
        )
        for each in shown
    )
    return Card(
        f"PVCs of {found.team}",
        lines=tuple(_remarks(found, format_command)),
        table=Table(header, rows) if rows else None,
    )


def claim_card(found: ClaimDetails) -> Card:
    """One PVC: its volume, who mounts it, its snapshots, its source and its copies."""
    claim = found.summary.claim
    is_leaving = claim.metadata.deletion_timestamp is not None
    return Card(
        f"PVC {claim.name}",
        state="Being deleted" if is_leaving else claim.status.phase,
        tone=Tone.WARNING if is_leaving or claim.status.phase == "Lost" else Tone.QUIET,
        lines=tuple(_warnings(found)),
        facts=(
            ("PVC", code(f"{claim.namespace}/{claim.name}")),
            ("Cluster", plain(found.summary.cluster)),
            *_volume_facts(found.summary),
            *_level_facts(found.summary),
            ("Mounted by", _mounted(found.summary.users)),
            *_run_facts(found.runs),
            *_snapshot_facts(found),
            *_lineage_facts(found),
        ),
    )


def _remarks(found: TeamClaims, format_command: FormatCommand) -> Iterator[Markup]:
    if not found.rows and not found.unread:
        yield plain(f"{found.team} has no PVCs.")
    yield from total_cost(found.rows)
    if len(found.rows) > _MOST_ROWS:
        yield plain(f"{len(found.rows) - _MOST_ROWS} more PVCs are not shown.")
    if found.others:
        count = len(found.others)
        some = "1 PVC here is" if count == 1 else f"{count} PVCs here are"
        usage = code(format_command("dataset usage"))
        names = _some(found.others)
        yield join(plain(f"{some} not the team's own, but of datasets or other teams: {names}. "),
                   usage, " shows the caches of datasets.")  # fmt: skip
    yield from reading_remarks(found)


def total_cost(rows: Sequence[ClaimSummary]) -> Iterator[Markup]:
    """A line with what PVCs cost a month together, if any has a known price."""
    known = [each.cost for each in rows if each.cost is not None]
    if known:
        rest = "" if len(known) == len(rows) else ", for PVCs with a known price"
        yield plain(f"Total: {money(sum(known))} a month{rest}.")


def reading_remarks(found: TeamClaims) -> Iterator[Markup]:
    """Lines about what could not be read, so that an answer is incomplete or outdated."""
    for name in found.unread:
        yield plain(f"Cluster {name} has not been read yet, so its PVCs are missing here.")
    for name, trouble in found.troubles:
        said = trouble.rstrip(".")
        yield plain(f"Cluster {name} cannot be read now, so this may be outdated: {said}.")
    if found.azure:
        is_part = any(each.level is not None for each in found.rows)
        levels = "Some levels" if is_part else "Levels"
        yield plain(f"{levels} of Azure NetApp Files are unknown: {found.azure}")


def _cells(row: ClaimSummary, *, is_wide: bool) -> tuple[str, ...]:
    claim = row.claim
    return (
        claim.name + (f" ({row.cluster})" if is_wide else ""),
        _size(claim) + _state(claim),
        claim.spec.storage_class_name or "none",
        ", ".join(_MODES.get(each, each) for each in claim.spec.access_modes),
        _mounted_short(row.users),
        str(len(row.snapshots)) if row.has_snapshots else "not served",
    )


def _size(claim: PersistentVolumeClaim) -> str:
    size, wanted = claim.size_bytes, claim.requested_bytes
    if size is None:
        return UNKNOWN
    grows = f", growing to {capacity(wanted)}" if wanted is not None and wanted > size else ""
    return capacity(size) + grows


def _state(claim: PersistentVolumeClaim) -> str:
    """What is unusual about the state of a PVC."""
    if claim.metadata.deletion_timestamp is not None:
        return " (being deleted)"
    phase = claim.status.phase
    return "" if phase == "Bound" else f" ({phase.lower() or UNKNOWN})"


def _mounted_short(users: Sequence[ClaimUser]) -> str:
    names = [
        name if count == 1 else f"{name} ({count} pods)" for name, count in _by_run(users).items()
    ]
    names += [f"pod {each.pod}" for each in users if not each.run]
    more = len(names) - _MOST_USERS
    rest = f" and {more} more" if more > 0 else ""
    return ", ".join(names[:_MOST_USERS]) + rest if names else "not mounted"


def _mounted(users: Sequence[ClaimUser]) -> Markup:
    people = {each.run: each.person for each in users if each.run and each.person}
    parts: list[Markup] = []
    for name, count in _by_run(users).items():
        of = join(" (", person(people[name]), ")") if name in people else ""
        pods = "1 pod" if count == 1 else f"{count} pods"
        parts.append(join("run ", code(name), of, plain(f", {pods}")))
    parts += [
        join("pod ", code(each.pod), plain(f", {(each.phase or UNKNOWN).lower()}"))
        for each in users
        if not each.run
    ]
    if not parts:
        return plain("no pod now")
    more = len(parts) - _MOST_NAMED
    rest = plain(f"; and {more} more") if more > 0 else plain("")
    return join(Markup("; ".join(parts[:_MOST_NAMED])), rest)


def _by_run(users: Sequence[ClaimUser]) -> Counter[str]:
    return Counter(each.run for each in users if each.run)


def _warnings(found: ClaimDetails) -> Iterator[Markup]:
    claim, level = found.summary.claim, found.summary.level
    for each in claim.status.conditions:
        if each.true and each.type == "FileSystemResizePending":
            yield plain("The volume has grown; its file system grows when a pod mounts it next.")
        elif each.true and each.message:
            yield plain(f"Kubernetes reports {each.type}: {each.message}")
    if claim.metadata.deletion_timestamp is not None and found.summary.users:
        yield plain("Kubernetes deletes it once no pod mounts it any more.")
    if found.revert is not None:
        yield join("It is being reverted to snapshot ", code(found.revert.snapshot),
                   "; the revert's card shows the progress.")  # fmt: skip
    if level is not None and level.is_moved:
        yield plain("Its volume was moved to another pool; `/anf show` tells what that means.")
    if found.azure:
        yield plain(f"Its level in Azure NetApp Files is unknown: {found.azure}")


def _volume_facts(found: ClaimSummary) -> Iterator[tuple[str, Markup]]:
    claim, volume, kind = found.claim, found.volume, found.storage_class
    yield "Size", plain(_size(claim))
    yield "Class", plain(_class(found))
    if kind is not None:
        yield "Can grow", plain("yes" if kind.allow_volume_expansion else "no, by its class")
    yield "Access", plain(", ".join(claim.spec.access_modes))
    if claim.metadata.creation_timestamp is not None:
        yield "Created", when(claim.metadata.creation_timestamp)
    if volume is not None:
        policy = volume.spec.persistent_volume_reclaim_policy
        stays = ", which stays when the PVC is deleted" if policy == "Retain" else ""
        goes = ", deleted with the PVC" if policy == "Delete" else ""
        yield "PV", join(code(volume.name), plain(stays or goes))


def _class(found: ClaimSummary) -> str:
    name = found.claim.spec.storage_class_name or "none"
    csi = found.volume.spec.csi if found.volume is not None else None
    driver = csi.driver if csi is not None else ""
    if not driver and found.storage_class is not None:
        driver = found.storage_class.provisioner
    return f"{name} ({driver})" if driver else name


def _level_facts(found: ClaimSummary) -> Iterator[tuple[str, Markup]]:
    if found.level is not None:
        yield from _of_level(found.level)
    if found.cost is not None:
        is_share = found.level is not None and found.level.cost is not None
        of_pool = ", its share of the pool" if is_share else ""
        yield "Monthly cost", plain(money(found.cost) + of_pool)


def _of_level(level: LevelFound) -> Iterator[tuple[str, Markup]]:
    volume = level.volume
    yield "Level", plain(f"{volume.level} of Azure NetApp Files, pool {volume.place.pool}")
    yield "Throughput", plain(throughput(volume.throughput_mibps))
    yield "Used", plain(used(volume.used_bytes, volume.quota_bytes))


def _run_facts(runs: Sequence[ClaimRun]) -> Iterator[tuple[str, Markup]]:
    if runs:
        told = [
            join(code(each.reference), plain(f": {each.state}{', read-only' * each.is_read_only}"))
            for each in runs[:_MOST_NAMED]
        ]
        more = len(runs) - _MOST_NAMED
        rest = plain(f"; and {more} earlier") if more > 0 else plain("")
        yield "Runs", join(Markup("; ".join(told)), rest)


def _snapshot_facts(found: ClaimDetails) -> Iterator[tuple[str, Markup]]:
    yield "Snapshots", _snapshots(found.summary)
    row = found.schedule
    if row is not None:
        yield "Schedule", join(
            code(row.cron), plain(f" in {row.time_zone}, kept {kept(row.keep, row.most)}; next "),
            when(row.next_at))  # fmt: skip
    if found.others:
        yield "Also", plain(covered(found.others))


def _snapshots(found: ClaimSummary) -> Markup:
    if not found.has_snapshots:
        return plain("none: the cluster serves no VolumeSnapshots")
    if not found.snapshots:
        return plain("none")
    names = []
    for each in found.snapshots[:_MOST_NAMED]:
        moment = each.status.creation_time
        taken = join(" of ", when(moment)) if moment is not None else plain(", not ready")
        names.append(join(code(each.name), taken))
    more = len(found.snapshots) - _MOST_NAMED
    rest = plain(f"; and {more} older") if more > 0 else plain("")
    return join(plain(f"{len(found.snapshots)}: "), Markup("; ".join(names)), rest)


def _lineage_facts(found: ClaimDetails) -> Iterator[tuple[str, Markup]]:
    claim, source, row = found.summary.claim, found.source, found.restore
    if row is not None:
        kind = "snapshot" if row.snapshot_id is not None else "PVC"
        of = join(" of ", code(row.of_claim)) if row.snapshot_id is not None else plain("")
        yield (
            "Created from",
            join(
                kind,
                " ",
                code(row.source),
                of,
                ", by ",
                person(row.person),
                " ",
                when(row.asked_at),
            ),
        )
    elif source is not None:
        kind = "snapshot" if source.is_snapshot else "PVC" if source.is_claim else source.kind
        place = f" in namespace {source.namespace}" if source.namespace != claim.namespace else ""
        yield "Created from", join(plain(kind), " ", code(source.name), plain(place))
    run = claim.metadata.annotations.get(labels.RUN_NAME)
    if run:
        yield "Created for", join("run ", code(without_mentions(run)))
    if found.copies:
        yield "Copies", plain(_some(found.copies))


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
