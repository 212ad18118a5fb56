"""Messages in the thread of a run's card, posted once each, with notices to people."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlmodel import Session

from bot.durations import format_duration
from bot.notices import Notice, NoticeKind
from bot.slack.card import Button
from bot.slack.markup import FormatCommand, Markup, code, join, plain, sentence, when
from bot.slack.messages import ThreadMessage, post_once
from bot.training.session_time import extensions, last_moment, time_left
from bot.training.spec import is_shown_by_sweep
from bot.training.tables import BAD_ENDS, Run, RunPhase
from bot.training.watches.notices import tell_watched
from bot.training.watches.service import end_watches
from bot.training.wording import block, duration, name_of, results

EXTEND, KEEP = "train.extend", "train.keep"
IDLE = "idle-"


def admitted(session: Session, run: Run, waited_since: datetime, now: datetime) -> None:
    """Posts that its quota engine admitted it."""
    lasted = format_duration(max(now - waited_since, now - now))
    _say(session, run, f"admitted-{run.admissions}", [plain(f"Admitted after {lasted}.")], now)


def released(session: Session, run: Run, why: str, now: datetime) -> None:
    """Posts that the runs that it waited for have ended."""
    _say(session, run, "released", [sentence(why)], now)


def preempted(
    session: Session, run: Run, why: str, format_command: FormatCommand, now: datetime
) -> None:
    """Notifies the owner that it was preempted and waits again."""
    left = time_left(run)
    time = f" It then has {format_duration(left)} of its time left." if left else ""
    line = join(plain(f"{run.reference} was preempted. {why} It waits in its queue again and"
                      f" restarts from its last checkpoint, if it wrote one.{time} Its output is"
                      " kept: "),
                code(format_command(f"train logs {run.reference}")))  # fmt: skip
    note = ThreadMessage(f"preempted-{run.preemptions}", [line], owner=run.person)
    _tell(session, run, NoticeKind.PREEMPTED, note, now)


def failed_attempt(
    session: Session, run: Run, why: str, lines: Sequence[str], now: datetime
) -> None:
    """Posts that a pod failed, and whether it is replaced."""
    said = [plain(why)]
    if lines:
        said.append(block(lines))
    _say(session, run, f"attempt-{run.restarts}", said, now)


def disrupted(
    session: Session, run: Run, pod_uid: str, why: str, lines: Sequence[str], now: datetime
) -> None:
    """Posts why a pod was disrupted, and that the run restarts automatically."""
    said = [plain(f"{why} It restarts automatically, from its last checkpoint, if it wrote one.")]
    if lines:
        said.append(block(lines))
    _say(session, run, f"disrupted-{pod_uid}", said, now)


def ends_soon(session: Session, run: Run, format_command: FormatCommand, now: datetime) -> None:
    """Reminds the owner that the session ends soon, with buttons that extend it."""
    if run.until is None:
        return
    left = format_duration(timedelta(minutes=-((now - run.until) // timedelta(minutes=1))))
    said = [join(plain(f"{run.reference} ends in {left}, "), when(run.until),
                 plain(". Its pod and its data outside PVCs are then deleted."))]  # fmt: skip
    most = last_moment(run)
    if most == run.until:
        said.append(plain("It cannot be extended: it already has the maximum time."))
    else:
        longer = code(format_command(f"train extend {run.reference} 30m"))
        said.append(join(longer, " extends it, until ", when(most), " at most."))
    buttons = [
        Button(EXTEND, f"Extend {format_duration(each)}", extension_value(run, run.until + each))
        for each in extensions(run)
    ]
    note = ThreadMessage(f"reminder-{run.reminders}", said, owner=run.person, buttons=buttons)
    _tell(session, run, NoticeKind.TIME, note, now)


def started(session: Session, run: Run, waited: timedelta, now: datetime) -> None:
    """Notifies the owner that it runs after a long wait."""
    said = [plain(f"{run.reference} is running after waiting for {format_duration(waited)}.")]
    note = ThreadMessage(f"started-{run.admissions}", said, owner=run.person)
    _tell(session, run, NoticeKind.STARTED, note, now)


def time_runs_out(
    session: Session, run: Run, limit: timedelta, ends_at: datetime, now: datetime
) -> None:
    """Notifies the owner that most of its time limit is used."""
    used = int(100 * (1 - (ends_at - now) / limit))
    said = [join(plain(f"{run.reference} has used {used} % of its time limit of"
                       f" {format_duration(limit)}. It is stopped "), when(ends_at),
                 plain(" unless it finishes first. Work since its last checkpoint is then"
                       " lost."))]  # fmt: skip
    note = ThreadMessage(f"time-{run.admissions}", said, owner=run.person)
    _tell(session, run, NoticeKind.TIME, note, now)


def is_idle(session: Session, run: Run, stops_at: datetime, now: datetime) -> None:
    """Warns the owner that the session's GPUs are idle, with a button that keeps it."""
    if run.idle_since is None:
        return
    said = [
        join(plain(f"{run.reference}: its GPUs have been idle since "), when(run.idle_since),
             plain(". It is stopped "), when(stops_at),
             plain(" to free them for others, unless they are used before then. Its pod and its"
                   " data outside PVCs are then deleted.")),
    ]  # fmt: skip
    buttons = [Button(KEEP, "Keep it for 4h", run.id)]
    note = ThreadMessage(f"{IDLE}{stops_at:%Y%m%d%H%M}", said, owner=run.person, buttons=buttons)
    _tell(session, run, NoticeKind.IDLE, note, now)


def leaves(session: Session, run: Run, claim: str, now: datetime, *, is_there: bool) -> None:
    """Posts what happens to a PVC created for a run that never started."""
    if not is_there:
        said = [join("PVC ", code(claim), " did not exist yet and will not be created.")]
        _say(session, run, "leaves", said, now)
        return
    said = [
        join("PVC ", code(claim), ", which was created for it, is kept; the run never started."),
        join(code(f"--pvc {claim}:/mnt"), " mounts it in another run, and ",
             code(f"kubectl delete pvc -n {run.namespace} {claim}"), " deletes it."),
    ]  # fmt: skip
    _say(session, run, "leaves", said, now)


def extension_value(run: Run, until: datetime) -> str:
    """The value of the button: until when, so that two clicks do not extend twice."""
    return f"{run.id} {int(until.timestamp())}"


def started_again(session: Session, run: Run, outcome: str, now: datetime) -> None:
    """Posts the outcome of its restart."""
    _say(session, run, "again", [plain(outcome)], now)


def ended(
    session: Session,
    run: Run,
    pod: str,
    lines: Sequence[str],
    format_command: FormatCommand,
    now: datetime,
    *,
    afterwards: str = "",
) -> None:
    """Notifies the owner how it ended, with results or the last lines of the failed pod.

    `afterwards` says what becomes of its nodes. Watches of the run end with this.
    """
    is_bad = RunPhase(run.phase) in BAD_ENDS
    said = [plain(_ending(session, run))]
    if is_bad and lines:
        said.append(join(plain(f"Last lines of {pod}:\n"), block(lines)))
    if run.unblock and (is_bad or run.phase == RunPhase.STOPPED):
        said.append(sentence(run.unblock))
    if lines:
        said.append(join("More of the log: ", code(format_command(f"train logs {run.reference}"))))
    if afterwards:
        said.append(plain(afterwards))
    note = ThreadMessage("ended", said, broadcast=is_bad, owner=run.person)
    _tell(session, run, NoticeKind.FAILED if is_bad else NoticeKind.ENDED, note, now)
    end_watches(session, run)


def _ending(session: Session, run: Run) -> str:
    lasted = duration(run)
    after = f" after {lasted}" if lasted else " before it started"
    match RunPhase(run.phase):
        case RunPhase.SUCCEEDED:
            told = f" {results(run)}." if run.results else ""
            meant = f" {run.reason}" if run.reason else ""
            return f"{run.reference} succeeded{after if lasted else ''}.{told}{meant}"
        case RunPhase.STOPPED:
            by = name_of(session, run.workspace_id, run.stop_by)
            why = f" {run.reason}" if run.reason else ""
            return f"{run.reference} was stopped by {by}{after}.{why}"
        case RunPhase.EXPIRED:
            return f"{run.reference} expired{after}: its time is up. {run.reason}"
        case RunPhase.VANISHED:
            return f"{run.reference} was deleted{after}. {run.reason}"
        case _:
            return f"{run.reference} failed{after}. {run.reason}"


def _say(session: Session, run: Run, purpose: str, lines: Sequence[Markup], now: datetime) -> None:
    if is_shown_by_sweep(run):
        return  # There is no card of its own in whose thread this could stand.
    post_once(
        session, run.subject, run.channel, ThreadMessage(purpose, lines, owner=run.person), now
    )


def _tell(session: Session, run: Run, kind: NoticeKind, note: ThreadMessage, now: datetime) -> None:
    tell_watched(session, run, Notice(kind, run.person, note), now)
