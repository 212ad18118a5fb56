"""The rows of a new run: checks against its team's policy and live runs, and its insert."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

from sqlalchemy import bindparam, func, insert, select
from sqlmodel import Session, col

from bot.config import Admission, Team
from bot.database.prepared import Prepared
from bot.datasets.tables import Version
from bot.durations import format_duration
from bot.errors import ConflictError, LimitError, NotAllowedError
from bot.masking import mask
from bot.people.access import Caller
from bot.slack.markup import FormatCommand
from bot.training.kinds import gpus_of
from bot.training.kinds.pods.template import object_name
from bot.training.kinds.pods.volumes import mounts_of
from bot.training.kinds.sync import OPEN_OPTIONS
from bot.training.queueing import queue_for
from bot.training.session_time import refuse_long
from bot.training.spec import RunSpec, to_row
from bot.training.tables import Run, reference
from bot.training.templates.candidates import Candidate, to_rows
from bot.training.wording import gpus as gpus_words

_SHOWN = 10


@dataclass(frozen=True)
class Submitted:
    """A submitted run, with warnings about what may keep it from ever starting.

    `on` are the compute templates that it names, in order.
    """

    run_id: str
    team: str
    name: str
    number: int
    spec: RunSpec
    warnings: tuple[str, ...] = ()
    on: tuple[Candidate, ...] = ()

    @property
    def reference(self) -> str:
        """How people point at exactly this run."""
        return reference(self.name, self.number)

    @property
    def root_name(self) -> str:
        """The name of its root."""
        return object_name(self.name, self.run_id)


@dataclass(frozen=True)
class AskedRun:
    """A requested run, before its cluster and its data were checked.

    `places` are the compute templates that it names, in order, with its spec there. `at_once` is
    how many such runs are live at a time, for a run of a sweep.
    """

    name: str
    cluster: str
    spec: RunSpec
    places: tuple[Candidate, ...] = ()
    at_once: int | None = None


@dataclass(frozen=True)
class MissingCache:
    """A version that a run reads in this cluster, where its pods are in `namespace`."""

    version: Version
    cluster: str
    namespace: str


class UncachedRunError(ConflictError):
    """A run that could be submitted if its data was cached: `missing` is what is not.

    The data of `asked` is resolved, so that it stays the same however long the confirmation
    takes.
    """

    def __init__(
        self, cause: ConflictError, asked: AskedRun, missing: tuple[MissingCache, ...]
    ) -> None:
        super().__init__(cause.message, cause.hint)
        self.asked = asked
        self.missing = missing


class NameTakenError(ConflictError):
    """A live run or sweep has the name of a new run; the command `stop` stops that one."""

    def __init__(self, message: str, stop: str) -> None:
        super().__init__(
            message, f"Wait until it ends, stop it with `{stop}`, or choose another name."
        )
        self.stop = stop


@dataclass(frozen=True)
class Present:
    """The number of live runs of a team, and the newest number of a name (0 if none)."""

    live_runs: int
    newest: int
    is_live: bool


_OF_TEAM = col(Run.team) == bindparam("team")
_OF_NAME = (_OF_TEAM, col(Run.name) == bindparam("name"))
_NEWEST_FIRST = col(Run.number).desc()
# Built once: that takes longer than to run them.
_PRESENT = Prepared(
    select(
        select(func.count())
        .select_from(Run)
        .where(_OF_TEAM, col(Run.ended_at).is_(None))
        .scalar_subquery()
        .label("live_runs"),
        select(col(Run.number))
        .where(*_OF_NAME)
        .order_by(_NEWEST_FIRST)
        .limit(1)
        .scalar_subquery()
        .label("newest"),
        select(col(Run.ended_at).is_(None))
        .where(*_OF_NAME)
        .order_by(_NEWEST_FIRST)
        .limit(1)
        .scalar_subquery()
        .label("is_live"),
    )
)
_INSERT = Prepared(insert(Run))


def present(session: Session, team: str, name: str) -> Present:
    """The live runs of the team, and the newest run of that name."""
    ((live_runs, newest, is_live),) = _PRESENT(session, {"team": team, "name": name}).rows
    return Present(live_runs, newest or 0, bool(is_live))


def refuse_live(name: str, there: Present, format_command: FormatCommand) -> None:
    """NameTakenError while a run of that name has not ended."""
    if there.is_live:
        raise NameTakenError(
            f"{reference(name, there.newest)} has not ended, and live runs of a team must"
            " have different names.",
            format_command(f"train stop {name}"),
        )


def refuse_many(team: str, there: Present, most: int, format_command: FormatCommand) -> None:
    """LimitError when a team has reached its limit of live runs."""
    if there.live_runs >= most:
        raise LimitError(
            f"{team} has {there.live_runs} live runs; its limit is {most}.",
            f"Wait until some end, or stop some: `{format_command('train list')}` shows them.",
        )


def row_of(run: Submitted, caller: Caller, team: Team, now: datetime) -> dict[str, object]:
    """The row of a run that the caller submits."""
    return {
        "id": run.run_id,
        "workspace_id": caller.workspace_id,
        "team": run.team,
        "name": run.name,
        "number": run.number,
        "person": caller.person,
        "channel": caller.channel,
        "cluster": team.cluster,
        "namespace": team.namespace,
        "queue": queue_for(run.spec, team),
        "job_name": run.root_name,
        "spec": to_row(run.spec),
        "candidates": to_rows(run.on),
        "asked_at": now,
        "since": now,
    }


def insert_run(session: Session, row: Mapping[str, object]) -> None:
    """Inserts the row of a new run; missing columns have the defaults of the table."""
    _INSERT(session, row)


def audited(run: Submitted) -> dict[str, str]:
    """The facts for the audit log; it never contains values of variables."""
    spec = run.spec
    facts = {
        "name": run.reference,
        "image": spec.image,
        "command": mask(shlex.join(spec.command)),
        "worker_command": mask(shlex.join(spec.worker_command)),
        "kind": " ".join(filter(None, (spec.kind, spec.form))) if spec.kind != "job" else "",
        "gpus": f"{gpus_of(spec):f}",
        "gpu_type": spec.gpu_type or "",
        "cpu": spec.cpu,
        "memory": spec.memory_with_shm,
        "env": " ".join(each.name for each in spec.env),
        "secrets": " ".join(f"{s.name}={s.secret}/{s.key}" for s in spec.secrets),
        "pvcs": " ".join(mount.claim for mount in mounts_of(run.root_name, spec)),
        "data": " ".join(each.reference for each in spec.data),
        "code": spec.code or "",
        "snapshot": spec.snapshot.target if spec.snapshot else "",
        "from_snapshot": spec.origin.snapshot if spec.origin else "",
        "after": " ".join(each.spelled for each in spec.after),
        "sweep": spec.cell.sweep if spec.cell else "",
        "preset": spec.preset or "",
        "on": " ".join(each.template for each in run.on),
        "open": " ".join(option for option in OPEN_OPTIONS if getattr(spec, option)),
    }
    return {name: value for name, value in facts.items() if value}


def refuse_forbidden(spec: RunSpec, team: str, policy: Admission) -> None:
    """NotAllowedError when the policy forbids the run; the hint lists what it allows."""
    if policy.kinds and spec.kind not in policy.kinds:
        raise NotAllowedError(
            f"{team} may not use `--kind {spec.kind}`.", f"It may use: {_kinds(policy.kinds)}."
        )
    if policy.images and not any(fnmatchcase(spec.image, each) for each in policy.images):
        raise NotAllowedError(
            f"{team} may not run the image {spec.image}.",
            f"It may run: {_listed([f'`{each}`' for each in policy.images])}.",
        )
    if spec.host_network and spec.kind not in policy.host_network:
        raise _closed(spec, team, "host_network", "use the host network", policy.host_network)
    if spec.privileged and spec.kind not in policy.privileged:
        raise _closed(spec, team, "privileged", "run privileged containers", policy.privileged)


def refuse_excess(spec: RunSpec, team_name: str, team: Team) -> None:
    """LimitError when the run is larger or longer than the team's limits allow."""
    limits, asked = team.limits, gpus_of(spec)
    if spec.session_seconds is not None:
        refuse_long(spec, team_name, team)
    if asked > limits.gpus_per_run:
        raise LimitError(
            f"{gpus_words(asked)} {'exceeds' if asked == 1 else 'exceed'} the limit of {team_name}"
            f" for one run: {limits.gpus_per_run}.",
            f"Use `--gpus {limits.gpus_per_run}` or fewer, or ask an admin for a higher limit.",
        )
    if limits.time is None or spec.session_seconds is not None:
        return
    longest = format_duration(limits.time).replace(" ", "")
    if spec.time_limit is None:
        raise LimitError(
            f"Runs of {team_name} need a time limit of at most {longest}.",
            f"Add `--time {longest}` or less.",
        )
    if spec.time_limit > limits.time:
        raise LimitError(
            f"{format_duration(spec.time_limit)} exceeds the time limit for runs of {team_name}:"
            f" {format_duration(limits.time)}.",
            f"Use `--time {longest}` or less.",
        )


def _closed(
    spec: RunSpec, team: str, option: str, what: str, kinds: Sequence[str]
) -> NotAllowedError:
    """The error for an option that is forbidden unless the policy allows it."""
    dashed = f"--{option.replace('_', '-')}"
    allowed = f" Allowed with: {_kinds(kinds)}." if kinds else ""
    return NotAllowedError(
        f"{team} may not {what} with `--kind {spec.kind}`.",
        f"Leave `{dashed}` out.{allowed} A platform admin can allow it: `admission.{option}` for"
        " the team in quartermaster.yaml.",
    )


def _kinds(kinds: Sequence[str]) -> str:
    return ", ".join(f"`--kind {each}`" for each in kinds)


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more
