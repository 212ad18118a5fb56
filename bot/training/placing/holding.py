"""Holds what a new run reads, in each place that it names, and says which caches it lacks."""

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.config import Settings
from bot.database.prepared import savepoint
from bot.errors import ConflictError
from bot.slack.markup import FormatCommand
from bot.training.placing.choosing import Option, naming
from bot.training.placing.limits import asked_again
from bot.training.spec import RunSpec
from bot.training.submission.data import Reader, use_volumes, with_data
from bot.training.submission.new_run import AskedRun, Submitted, UncachedRunError


@dataclass(frozen=True)
class Holding:
    """Holds caches and PVCs for new runs; `format_command` formats a command."""

    settings: Settings
    format_command: FormatCommand

    def held(
        self,
        session: Session,
        new: Submitted,
        options: Sequence[Option],
        asked: Sequence[RunSpec],
        now: datetime,
    ) -> tuple[Option, ...]:
        """The places with the caches that the run reads there; `asked` are its specs as requested.

        UncachedRunError if only caches are missing, in any of the places; then nothing is held.
        """
        found: list[Option] = []
        lacking: list[UncachedRunError] = []
        with _taken_back(session, options):
            for option, spec in zip(options, asked, strict=True):
                run = AskedRun(new.name, option.team.cluster, spec)
                reader = Reader(
                    new.run_id, new.reference, new.team, option.team, run, option.engine
                )
                try:
                    with naming(option, options):
                        found.append(self._held(session, option, reader, now))
                except UncachedRunError as error:
                    lacking.append(error)
            if lacking:
                raise _together(lacking, options, asked)
        return tuple(found)

    def _held(self, session: Session, option: Option, reader: Reader, now: datetime) -> Option:
        spec = with_data(session, option.spec, reader, self.settings, self.format_command, now)
        use_volumes(session, spec, reader)
        return dataclasses.replace(option, spec=spec)


@contextmanager
def cached_first() -> Iterator[None]:
    """Refuses a run that lacks caches, so that they are not offered: they have to be there."""
    try:
        yield
    except UncachedRunError as error:
        raise ConflictError(error.message, error.hint) from None


def _taken_back(session: Session, options: Sequence[Option]) -> AbstractContextManager[None]:
    """Takes back what is held in one place if another place lacks a cache."""
    is_several = len(options) > 1 and bool(options[0].spec.data)
    return savepoint(session) if is_several else nullcontext()


def _together(
    lacking: Sequence[UncachedRunError], options: Sequence[Option], asked: Sequence[RunSpec]
) -> UncachedRunError:
    """One error for all places, whose run names the same versions in each of them."""
    first = lacking[0]
    if options[0].template is None:
        return first
    data = first.asked.spec.data
    places = tuple(
        dataclasses.replace(option, spec=asked_again(spec, data)).candidate
        for option, spec in zip(options, asked, strict=True)
    )
    run = dataclasses.replace(first.asked, cluster=options[0].team.cluster, places=places)
    said = {each.message: each.hint for each in lacking}
    cause = ConflictError(" ".join(said), " ".join(said.values()))
    missing = {(each.version.id, each.cluster): each for error in lacking for each in error.missing}
    return UncachedRunError(cause, run, tuple(missing.values()))
