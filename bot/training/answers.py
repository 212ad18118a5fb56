"""What people read when they ask about runs."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import inf

from bot.durations import format_duration
from bot.slack.card import AsFile, Card, Reply, Table, Tone
from bot.slack.container_parameters import VolumeMount
from bot.slack.markup import Markup, code, join, link, plain, sentence, when
from bot.training.card import People, run_card
from bot.training.kinds.interactive import door_name, host_of
from bot.training.kinds.volumes import mounts_of
from bot.training.lasting import PORT, last_moment
from bot.training.listing import Listed, Listing
from bot.training.log_reads import LogTail, LogWish
from bot.training.new_run import Submitted
from bot.training.reads import Door
from bot.training.record import file_name
from bot.training.spec import RunSpec, Volume, spec_of
from bot.training.strangers import Stranger
from bot.training.tables import KEPT_LINES, NOT_ADMITTED, Phase, Run
from bot.training.why import Why, explain_stranger
from bot.training.wording import gpus, state_words

FRESH_SECONDS = 30.0
_HEADER = ("Run", "State", "GPUs", "By", "Age")
_ELSEWHERE = "not started here"


def list_card(
    team: str,
    listing: Listing,
    others: Sequence[Stranger],
    moment: tuple[datetime, float],
    silent: Sequence[str] = (),
) -> Card:
    """The team's runs, and what else is in its queue.

    `moment` is now, and how many seconds old the view of the oldest cluster is; `silent` are the
    clusters that do not answer.
    """
    now, age_seconds = moment
    rows = [_run_row(run, now) for run in listing.runs]
    rows += [_stranger_row(each, now) for each in others]
    quiet = tuple(plain(f"Cluster {cluster} does not answer.") for cluster in silent)
    footer = (*quiet, *_age(age_seconds))
    if not rows:
        return Card(f"Runs of {team}", lines=(plain("There are none."), *footer))
    return Card(f"Runs of {team}", table=Table(_HEADER, tuple(rows)), footer=footer)


def why_card(run: Run, people: People, now: datetime) -> Card:
    """What a run waits for, since when, its place, and what would unblock it."""
    card = run_card(run, people, now)
    lines = list(card.lines)
    if run.is_live and run.phase not in NOT_ADMITTED:
        calm = "Nothing is in its way." if not (run.obstacle or run.trouble) else ""
        lines = [join(plain(f"It does not wait for quota. {calm}".strip())), *lines]
    if run.phase == Phase.ASKED:
        lines.append(plain("It is being handed to the cluster."))
    if run.polled_at is not None:
        lines.append(join("Place as of ", when(run.polled_at), "."))
    return Card(card.title, card.state, card.tone, tuple(lines))


def stranger_card(stranger: Stranger, now: datetime) -> Card:
    """What is known of a workload that was started without us, and why it waits if it does."""
    why: Why = explain_stranger(stranger.blocked, stranger.words)
    lines = [plain("It was not started here."), *(plain(s) for s in (why.waits_for, why.unblock))]
    facts: list[tuple[str, Markup]] = [
        ("Kind", plain(stranger.kind)),
        ("GPUs", plain(gpus(stranger.gpus))),
        ("Owner", plain(stranger.owner or "unknown")),
        ("Where", code(f"{stranger.namespace}/{stranger.name}")),
    ]
    return Card(
        stranger.name,
        _stranger_state(stranger),
        Tone.WORKING if stranger.is_admitted else Tone.WAITING,
        lines=tuple(line for line in lines if line),
        facts=(*facts, ("Age", plain(_stranger_age(stranger, now)))),
    )


def log_card(name: str, tail: LogTail, wish: LogWish) -> Card:
    """A log, or its last lines, and when they were kept if they were not read just now."""
    which = (name, wish.pod, "previous" if wish.is_previous else "")
    file = AsFile(f"{file_name('-'.join(filter(None, which)))}.log", "Use a smaller `--tail`.")
    before = ", before its last restart" if tail.pod and wish.is_previous else ""
    said = tuple(_log_lines(tail, wish))
    text = "\n".join(tail.lines)
    return Card(f"Log of {name}", f"{tail.pod or ''}{before}", lines=said, code=text, as_file=file)


def receipt(run: Submitted, undo: str) -> tuple[Markup, ...]:
    """What was recorded; `undo` is the command that stops it."""
    spec = run.spec
    shm = f" ({spec.shm} of it /dev/shm)" if spec.shm_bytes else ""
    sort = f" of {spec.gpu_type}" if spec.gpu_type else ""
    amounts = f"{gpus(spec.gpus)}{sort}, {spec.cpu} cores and {spec.memory_with_shm} memory{shm}"
    if spec.nodes > 1:
        amounts = f"{spec.nodes} nodes, each with {amounts}"
    volumes = zip(mounts_of(run.root_name, spec)[len(spec.mounts) :], spec.volumes, strict=True)
    return (
        join("Recorded: ", code(run.reference), plain(f" with {amounts}, for {run.team}.")),
        *(_new_volume(mount, volume) for mount, volume in volumes),
        *(join("Data: ", code(each.reference), plain(f" at {each.path}.")) for each in spec.data),
        *_origin(spec),
        join("Its card in this channel follows it. ", code(undo), " stops it."),
        *(plain(warning) for warning in run.warnings),
    )


def opened(run: Run, door: Door) -> Reply:
    """How a session is entered; for its owner alone."""
    entrance, lines = spec_of(run).entrance, []
    if door.path and entrance is not None:
        scheme = "https" if entrance.tls else "http"
        lines.append(join("Browser: ", link(f"{scheme}://{host_of(run, entrance)}{door.path}")))
    elif door.path:
        forward = f"kubectl port-forward -n {run.namespace} service/{door_name(run)} {PORT}:80"
        local = link(f"http://localhost:{PORT}{door.path}")
        lines += [join("Run ", code(forward), " and leave it running."), join("Browser: ", local)]
    if door.pod:
        line = f"kubectl exec -it -n {run.namespace} {door.pod} -- bash"
        lines.append(join("Shell: ", code(line)))
    if door.path:
        lines.append(plain("Only you see this. The address lets anybody in, so keep it for you."))
    return Reply(tuple(lines or [plain("Its pod is just starting. Try again in a moment.")]))


def extended(run: Run) -> tuple[Markup, ...]:
    """Until when a session lasts now."""
    return (
        join(code(run.reference), " goes on until ", when(run.until or run.since), "."),
        join("It can last until ", when(last_moment(run)), " at most."),
    )


def _origin(spec: RunSpec) -> Iterator[Markup]:
    origin = spec.origin
    if origin is not None:
        paths = " and ".join(origin.paths)
        of_run = f" of run {origin.run}" if origin.run else ""
        yield join("It starts from snapshot ", code(origin.snapshot), plain(f"{of_run}: "),
                   "PVC ", code(origin.claim), plain(f" is made from that for {paths}, and the run"
                   " waits for it."))  # fmt: skip


def _new_volume(mount: VolumeMount, volume: Volume) -> Markup:
    what = f"{volume.size} of {volume.storage_class}, for {volume.path}"
    return join("New PVC ", code(mount.claim), f" ({what}) stays when the run has ended.")


def _run_row(run: Listed, now: datetime) -> tuple[str, ...]:
    state = state_words(run, now)
    shown = f"{state}, place {run.place}" if run.place is not None else state
    return (run.reference, shown, run.all_gpus, run.owner, format_duration(now - run.asked_at))


def _stranger_row(stranger: Stranger, now: datetime) -> tuple[str, ...]:
    owner = f"{stranger.owner or 'unknown'}, {_ELSEWHERE}"
    amount = f"{stranger.gpus.normalize():f}"
    return (stranger.name, _stranger_state(stranger), amount, owner, _stranger_age(stranger, now))


def _stranger_state(stranger: Stranger) -> str:
    return "Admitted" if stranger.is_admitted else "Pending"


def _stranger_age(stranger: Stranger, now: datetime) -> str:
    made = stranger.created_at
    return format_duration(max(now - made, now - now)) if made else "unknown"


def _log_lines(tail: LogTail, wish: LogWish) -> Iterator[Markup]:
    if tail.trouble:
        yield sentence(f"It could not be read just now: {tail.trouble}")
    if tail.kept_at is not None:
        yield join("These lines were kept ", when(tail.kept_at), ".")
    if tail.is_cut:
        yield plain(_cut(tail, wish))
    if wish.is_whole and tail.lines and tail.kept_at is None:
        yield plain("Nodes keep the newest file of a log, and usually begin a new one at 10 MiB.")
    if not tail.lines:
        yield plain("It has said nothing yet." if tail.pod else "There is no pod yet.")


def _cut(tail: LogTail, wish: LogWish) -> str:
    if tail.kept_at is not None:
        return f"Of a pod that is gone only the last {KEPT_LINES} lines are kept."
    if wish.is_whole:
        return f"It is so much that only the last {len(tail.lines):,} lines of it are here."
    return f"Its lines are so long that only the last {len(tail.lines):,} of them are here."


def _age(age_seconds: float) -> tuple[Markup, ...]:
    if age_seconds <= FRESH_SECONDS:
        return ()
    if age_seconds == inf:
        return (plain("The cluster was not read yet, so work started elsewhere may be missing."),)
    return (plain(f"Work started elsewhere is shown as of {int(age_seconds)} s ago."),)
