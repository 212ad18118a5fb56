"""The places of a run that is submitted again, with its specs there."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from msgspec import structs
from sqlmodel import Session

from bot.config import Settings
from bot.people.access import Caller
from bot.training.flows.naming import carried
from bot.training.placing.choosing import Choosing, Option, TemplatesAsked
from bot.training.placing.fitting import SpecFitting
from bot.training.spec import as_own, asked_spec
from bot.training.submission.renewing import differences
from bot.training.tables import Run


@dataclass(frozen=True)
class Repeating:
    """Finds where an earlier run may wait, by the settings of today."""

    settings: Callable[[], Settings]
    choosing: Choosing
    fitting: SpecFitting

    def again(
        self,
        session: Session,
        caller: Caller,
        run: Run,
        only: int | None = None,
        on: TemplatesAsked | None = None,
    ) -> tuple[tuple[Option, ...], tuple[str, ...]]:
        """The original request of a run on its existing volumes, in each place that it named.

        `only` chooses one of these places, and `on` names others. The sentences say what differs:
        by the current settings of the team, and by the runs that it waits for.
        """
        after, dropped = carried(session, run)
        found, changes = [], list[str]()
        for option in self._asked_again(caller, run, only, on):
            before = structs.replace(as_own(option.spec), origin=None, after=after)
            spec = self.fitting.renewed(option.team, before)
            changes += differences(before, spec)
            spec = self.fitting.reused(caller, option.team, run.job_name, spec)
            if spec.volumes and option.team.cluster != run.cluster:
                changes.append(_left_volumes(run.cluster, option.team.cluster))
            found.append(replace(option, spec=spec))
        return tuple(found), (*dict.fromkeys(changes), *dropped)

    def _asked_again(
        self, caller: Caller, run: Run, only: int | None, on: TemplatesAsked | None
    ) -> tuple[Option, ...]:
        if on is not None:
            return self.choosing.elsewhere(caller, run, on)
        if run.candidates:
            return self.choosing.again(caller, run, only)
        team = self.settings().teams[caller.team or ""]
        team = team.on(run.cluster) if run.cluster in team.reach else team
        return (Option(team, asked_spec(run)),)


def _left_volumes(before: str, now: str) -> str:
    return (
        f"PVCs that were created for it in cluster {before} stay there; new ones are created in"
        f" cluster {now}."
    )
