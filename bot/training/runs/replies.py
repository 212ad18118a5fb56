"""Cards and replies of the commands about runs."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from math import inf

from bot.durations import format_duration
from bot.slack.card import AsFile, Card, Reply, Table, Tone
from bot.slack.grammar.container_parameters import VolumeMount
from bot.slack.markup import Markup, code, join, link, plain, sentence, when
from bot.training.external.listing import ExternalWorkload
from bot.training.kinds.interactive import host_of, service_name
from bot.training.kinds.pods.volumes import mounts_of
from bot.training.logs.reads import LogRequest, LogTail
from bot.training.pairs import ALL_PAIRS, plan
from bot.training.records.pairs import pairs_cost
from bot.training.records.record import file_name
from bot.training.runs.card import People, run_card
from bot.training.runs.listing import Listed, Listing
from bot.training.runs.reads import SessionAccess
from bot.training.runs.why import Why, explain_external
from bot.training.session_time import PORT, last_moment
from bot.training.spec import CreatedVolume, RunSpec, spec_of
from bot.training.submission.new_run import Submitted
from bot.training.tables import KEPT_LINES, NOT_ADMITTED, Run, RunPhase
from bot.training.templates.wording import order_words
from bot.training.wording import STOPPING, amounts_of, gpus, start_words, state_words

FRESH_SECONDS = 30.0
_HEADER = ("Run", "State", "GPUs", "By", "Age")
_ELSEWHERE = "external"


def list_card(
    team: str,
    listing: Listing,
    others: Sequence[ExternalWorkload],
    now: datetime,
    age_seconds: float,
    silent: Sequence[str] = (),
) -> Card:
    """The card of the team's runs and of the external workloads in its queue.

    `moment` is now, and the age in seconds of the oldest cluster view; `silent` are the clusters
    that do not respond.
    """
    rows = [_run_row(run, now) for run in listing.runs]
    rows += [_external_row(each, now) for each in others]
    quiet = tuple(plain(f"Cluster {cluster} does not respond.") for cluster in silent)
    footer = (*quiet, *_age(age_seconds))
    if not rows:
        return Card(f"Runs of {team}", lines=(plain("There are no runs."), *footer))
    return Card(f"Runs of {team}", table=Table(_HEADER, tuple(rows)), footer=footer)


def why_card(run: Run, people: People, now: datetime) -> Card:
    """The card of what a run waits for, since when, its position, and what would unblock it."""
    card = run_card(run, people, now)
    lines = list(card.lines)
    if run.is_live and run.phase not in NOT_ADMITTED:
        calm = "Nothing is blocking it." if not (run.obstacle or run.trouble) else ""
        lines = [join(plain(f"It is not waiting for quota. {calm}".strip())), *lines]
    if run.phase == RunPhase.ASKED:
        lines.append(plain("It is being submitted to the cluster."))
    if run.polled_at is not None:
        lines.append(join("Position as of ", when(run.polled_at), "."))
    return Card(card.title, card.state, card.tone, tuple(lines))


def external_card(external: ExternalWorkload, now: datetime) -> Card:
    """The card of an external workload, with the reason if it waits."""
    why: Why = explain_external(external.blocked, external.words)
    lines = [
        plain("It was not started by Quartermaster."),
        *(plain(s) for s in (why.waits_for, why.unblock)),
    ]
    facts: list[tuple[str, Markup]] = [
        ("Kind", plain(external.kind)),
        ("GPUs", plain(gpus(external.gpus))),
        ("Owner", plain(external.owner or "unknown")),
        ("Where", code(f"{external.namespace}/{external.name}")),
    ]
    return Card(
        external.name,
        _external_state(external),
        Tone.WORKING if external.is_admitted else Tone.WAITING,
        lines=tuple(line for line in lines if line),
        facts=(*facts, ("Age", plain(_external_age(external, now)))),
    )


def log_card(name: str, tail: LogTail, request: LogRequest) -> Card:
    """The card of a log: its last lines, and when they were saved if they were not read live."""
    which = (name, request.pod, "previous" if request.is_previous else "")
    file = AsFile(f"{file_name('-'.join(filter(None, which)))}.log", "Use a smaller `--tail`.")
    before = ", before its last restart" if tail.pod and request.is_previous else ""
    said = tuple(_log_lines(tail, request))
    text = "\n".join(tail.lines)
    return Card(f"Log of {name}", f"{tail.pod or ''}{before}", lines=said, code=text, as_file=file)


def receipt(run: Submitted, undo: str) -> tuple[Markup, ...]:
    """The answer to a submission; `undo` is the command that stops the run."""
    spec = run.spec
    amounts = amounts_of(spec)
    volumes = zip(mounts_of(run.root_name, spec)[len(spec.mounts) :], spec.volumes, strict=True)
    return (
        join("Submitted run ", code(run.reference), plain(f" with {amounts}, for {run.team}.")),
        *(_new_volume(mount, volume) for mount, volume in volumes),
        *(join("Data: ", code(each.reference), plain(f" at {each.path}.")) for each in spec.data),
        *_origin(spec),
        *(plain(each) for each in start_words(spec)),
        *(plain(each) for each in order_words(run.on)),
        join("Its card in this channel follows it. ", code(undo), " stops it."),
        *((plain(pairs_cost(plan(spec.nodes))),) if spec.form == ALL_PAIRS else ()),
        *(plain(warning) for warning in run.warnings),
    )


def opened(run: Run, access: SessionAccess) -> Reply:
    """The answer that shows how to open a session, for its owner only."""
    entrance, lines = spec_of(run).entrance, []
    if access.path and entrance is not None:
        scheme = "https" if entrance.tls else "http"
        lines.append(join("Browser: ", link(f"{scheme}://{host_of(run, entrance)}{access.path}")))
    elif access.path:
        forward = f"kubectl port-forward -n {run.namespace} service/{service_name(run)} {PORT}:80"
        local = link(f"http://localhost:{PORT}{access.path}")
        lines += [join("Run ", code(forward), " and leave it running."), join("Browser: ", local)]
    if access.pod:
        line = f"kubectl exec -it -n {run.namespace} {access.pod} -- bash"
        lines.append(join("Shell: ", code(line)))
    if access.path:
        lines.append(
            plain("Only you can see this. The address lets anyone in, so keep it private.")
        )
    return Reply(tuple(lines or [plain("Its pod is starting. Try again in a moment.")]))


def extended(run: Run) -> tuple[Markup, ...]:
    """The answer to an extension: until when the session runs."""
    return (
        join(code(run.reference), " runs until ", when(run.until or run.since), "."),
        join("It can run until ", when(last_moment(run)), " at most."),
    )


def _origin(spec: RunSpec) -> Iterator[Markup]:
    origin = spec.origin
    if origin is not None:
        paths = " and ".join(origin.paths)
        of_run = f" of run {origin.run}" if origin.run else ""
        yield join("It starts from snapshot ", code(origin.snapshot), plain(f"{of_run}: "),
                   "PVC ", code(origin.claim), plain(f" is created from it for {paths}, and the"
                   " run waits for that PVC."))  # fmt: skip


def _new_volume(mount: VolumeMount, volume: CreatedVolume) -> Markup:
    what = f"{volume.size} of {volume.storage_class}, for {volume.path}"
    return join("New PVC ", code(mount.claim), f" ({what}) is kept after the run ends.")


def _run_row(run: Listed, now: datetime) -> tuple[str, ...]:
    state, before = state_words(run, now), run.waits_for
    state = f"Waiting for {before}" if before and state != STOPPING else state
    shown = f"{state}, position {run.place}" if run.place is not None else state
    return (run.reference, shown, run.all_gpus, run.owner, format_duration(now - run.asked_at))


def _external_row(external: ExternalWorkload, now: datetime) -> tuple[str, ...]:
    owner = f"{external.owner or 'unknown'}, {_ELSEWHERE}"
    amount = f"{external.gpus.normalize():f}"
    return (external.name, _external_state(external), amount, owner, _external_age(external, now))


def _external_state(external: ExternalWorkload) -> str:
    return "Admitted" if external.is_admitted else "Pending"


def _external_age(external: ExternalWorkload, now: datetime) -> str:
    made = external.created_at
    return format_duration(max(now - made, now - now)) if made else "unknown"


def _log_lines(tail: LogTail, request: LogRequest) -> Iterator[Markup]:
    if tail.trouble:
        yield sentence(f"The log could not be read: {tail.trouble}")
    if tail.kept_at is not None:
        yield join("These lines were saved ", when(tail.kept_at), ".")
    if tail.is_cut:
        yield plain(_cut(tail, request))
    if request.is_whole and tail.lines and tail.kept_at is None:
        yield plain("Nodes keep the newest file of a log, and usually start a new file at 10 MiB.")
    if not tail.lines:
        yield plain("There is no output yet." if tail.pod else "There is no pod yet.")


def _cut(tail: LogTail, request: LogRequest) -> str:
    if tail.kept_at is not None:
        return f"Only the last {KEPT_LINES} lines are kept of a pod that is gone."
    if request.is_whole:
        return (
            f"The log is too long to show all of it: these are the last {len(tail.lines):,} lines."
        )
    return f"The lines are too long to show all of them: these are the last {len(tail.lines):,}."


def _age(age_seconds: float) -> tuple[Markup, ...]:
    if age_seconds <= FRESH_SECONDS:
        return ()
    if age_seconds == inf:
        return (plain("The cluster has not been read yet, so external workloads may be missing."),)
    return (plain(f"External workloads are shown as of {int(age_seconds)} s ago."),)
