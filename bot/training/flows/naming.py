"""The runs that a submission names after `--after`, and those that a resubmitted run waits for."""

from collections.abc import Iterator, Sequence

from sqlmodel import Session

from bot.config import Team
from bot.errors import ConflictError, UsageError
from bot.slack.grammar.parameters import RunEnd
from bot.slack.markup import FormatCommand
from bot.training import finding
from bot.training.flows.awaited import Awaited, awaited_of
from bot.training.kinds.kind import Forerunners
from bot.training.kinds.pods.volumes import claim_name
from bot.training.spec import CreatedVolume, Predecessor, RunSpec, asked_spec
from bot.training.tables import Run


def named(
    session: Session, team: str, ends: Sequence[RunEnd], format_command: FormatCommand
) -> tuple[Predecessor, ...]:
    """The runs of a team that a new run is to wait for.

    Raises:
        NotFoundError: the team has no such run.
        UsageError: a run is named twice.
        ConflictError: a run has to succeed and has ended otherwise.
    """
    found = tuple(_named(session, team, each, format_command) for each in ends)
    ids = [each.run_id for each in found]
    twice = next((each.run for each in found if ids.count(each.run_id) > 1), None)
    if twice is not None:
        raise UsageError(
            f"`--after` names {twice} twice.",
            f"Name it once: `--after {twice}`, or `--after {twice}:any` for any end.",
        )
    for each in awaited_of(session, found):
        if not each.is_live and not each.is_met:
            raise _in_vain(each, format_command)
    return found


def carried(session: Session, run: Run) -> tuple[tuple[Predecessor, ...], tuple[str, ...]]:
    """The runs that a resubmitted run waits for, and sentences about those it no longer does.

    It waits for what has not ended: the runs that it waited for and, in place of one that did not
    succeed, the newest run of that name.
    """
    kept, dropped = [], []
    for each in awaited_of(session, asked_spec(run).after):
        later = each if each.is_live or each.is_met else _newest(session, run.team, each)
        if later.run is not None and later.is_live:
            any_end = each.predecessor.is_any
            kept.append(Predecessor(run=later.reference, run_id=later.run.id, is_any=any_end))
        elif not later.is_met:
            dropped.append(f"It does not wait for {later.reference}, which {later.ended}.")
    return tuple(kept), tuple(dropped)


def is_waiting(session: Session, spec: RunSpec) -> bool:
    """Whether a new run has to wait for other runs."""
    return any(not each.is_met for each in awaited_of(session, spec.after))


def forerunners(session: Session, spec: RunSpec, team: Team) -> Forerunners:
    """The runs that end before a new run of the team starts, with the PVCs that they create."""
    runs = _before(session, spec)
    place = (team.cluster, team.namespace)
    there = (each for each in runs.values() if (each.cluster, each.namespace) == place)
    volumes = {claim: volume for run in there for claim, volume in _created(run)}
    return Forerunners(frozenset(runs), volumes)


def _named(session: Session, team: str, end: RunEnd, format_command: FormatCommand) -> Predecessor:
    run = finding.numbered(session, team, end.run)
    if run is None:
        raise finding.unknown(session, team, end.run, format_command)
    return Predecessor(run=run.reference, run_id=run.id, is_any=end.is_any)


def _in_vain(each: Awaited, format_command: FormatCommand) -> ConflictError:
    again = format_command(f"train resubmit {each.reference}")
    return ConflictError(
        f"{each.reference} {each.ended}, so a run that waits for its success would never start.",
        f"Start it again first: `{again}`. Or wait for any end of it:"
        f" `--after {each.reference}:any`.",
    )


def _newest(session: Session, team: str, each: Awaited) -> Awaited:
    return Awaited(each.predecessor, finding.newest(session, team, each.predecessor.name))


def _before(session: Session, spec: RunSpec) -> dict[str, Run]:
    """The live runs that it waits for, those that they wait for, and so on, by id."""
    found: dict[str, Run] = {}
    left = [*awaited_of(session, spec.after)]
    while left:
        run = left.pop().run
        if run is not None and run.is_live and run.id not in found:
            found[run.id] = run
            left += awaited_of(session, asked_spec(run).after)
    return found


def _created(run: Run) -> Iterator[tuple[str, CreatedVolume]]:
    """The PVCs that are created for a run, by name."""
    volumes = asked_spec(run).volumes
    return ((claim_name(run.job_name, place), each) for place, each in enumerate(volumes))
