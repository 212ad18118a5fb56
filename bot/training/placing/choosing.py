"""The compute templates that a submission names, each with what the run becomes there."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

import msgspec
from sqlmodel import Session

from bot.config import Prices, Settings, Team, Template
from bot.errors import ConflictError, NotFoundError, UsageError, UserError
from bot.people.access import Caller, bound
from bot.quotas import Engine
from bot.training.kinds import gpus_of
from bot.training.placing.fitting import SpecFitting
from bot.training.queueing import queue_for
from bot.training.spec import RunSpec, asked_spec
from bot.training.submission.building import Submission
from bot.training.submission.new_run import AskedRun
from bot.training.submission.outlook import hourly_price, start_of
from bot.training.tables import Run
from bot.training.templates.candidates import Candidate, candidates_of, current
from bot.training.wording import money_an_hour


@dataclass(frozen=True)
class Option:
    """A place where a new run may wait: its team there, and its spec.

    `template` is the compute template, with its `name`; None for a cluster of the team. `after` is
    how long the run waits there before it moves on. `engine`, and for a template `cost` of an hour
    and `price` in words, are known once it is fitted.
    """

    team: Team
    spec: RunSpec
    name: str = ""
    template: Template | None = None
    after: timedelta = timedelta(0)
    is_after_typed: bool = False
    engine: Engine | None = None
    cost: Decimal | None = None
    price: str = ""

    @property
    def candidate(self) -> Candidate:
        """The place as it is stored in the row of the run."""
        return Candidate(
            template=self.name,
            cluster=self.team.cluster,
            queue=queue_for(self.spec, self.team),
            after_seconds=int(self.after.total_seconds()),
            is_after_typed=self.is_after_typed,
            price=self.price,
            hourly=self.cost,
            spec=self.spec,
        )


def usable(settings: Settings, team_name: str) -> dict[str, Template]:
    """The templates that a team can use, by name."""
    team = settings.teams[team_name]
    return {
        name: each
        for name, each in settings.templates.items()
        if each.cluster in team.reach and (not each.teams or team_name in each.teams)
    }


def team_at(team: Team, template: Template) -> Team:
    """The team bound to the cluster and queue of a template, with its defaults."""
    own = {"cpu_per_gpu": template.cpu_per_gpu, "memory_gib_per_gpu": template.memory_gib_per_gpu}
    usual = {name: amount for name, amount in own.items() if amount is not None}
    return team.on(template.cluster).model_copy(
        update={
            "queue": template.queue or team.queue,
            "interactive_queue": None if template.queue else team.interactive_queue,
            "defaults": team.defaults.model_copy(update=usual),
        }
    )


@dataclass(frozen=True)
class TemplatesAsked:
    """The templates that a command names, in order, and when it says that a run moves on."""

    names: tuple[str, ...]
    after: timedelta | None = None


@dataclass(frozen=True)
class Choosing:
    """Finds the places that a submission names, and checks that a run is possible in each."""

    settings: Callable[[], Settings]
    fitting: SpecFitting

    def options(self, session: Session, caller: Caller, asked: Submission) -> tuple[Option, ...]:
        """The places of a submission in order; UserError if it is not valid."""
        team_name = caller.team or ""
        team = self.settings().teams[team_name]
        if not asked.templates:
            _refuse_idle(asked.fallback_after)
            team = bound(team_name, team, asked.cluster)
            return (Option(team, self.fitting.wished(session, caller, team, asked)),)
        _refuse_cluster(asked)
        _refuse_single(asked.templates, asked.fallback_after)
        chosen = _named(asked.templates, usable(self.settings(), team_name), team_name)
        found = []
        for name, template in chosen.items():
            place = team_at(team, template)
            wish = self.fitting.wished(session, caller, place, _typed(asked, name, template))
            spec = msgspec.structs.replace(wish, node_selector=dict(template.node_selector))
            after = asked.fallback_after or template.after
            typed = asked.fallback_after is not None
            found.append(Option(place, spec, name, template, after, typed))
        _refuse_new_volumes(found, can_mount=True)
        return tuple(found)

    def begun(self, caller: Caller, asked: AskedRun) -> tuple[Option, ...]:
        """The places of a run that was checked before, by the templates of today."""
        if asked.places:
            return self.kept(caller, asked.places)
        team_name = caller.team or ""
        team = bound(team_name, self.settings().teams[team_name], asked.cluster)
        return (Option(team, asked.spec),)

    def again(self, caller: Caller, run: Run, only: int | None = None) -> tuple[Option, ...]:
        """The places of an earlier run, with its specs there; `only` chooses one of them."""
        kept = candidates_of(run)
        return self.kept(caller, kept if only is None else kept[only : only + 1])

    def elsewhere(self, caller: Caller, run: Run, on: TemplatesAsked) -> tuple[Option, ...]:
        """The places of an earlier run on templates that are named now, with its specs there."""
        if not on.names:
            _refuse_idle(on.after)
        _refuse_single(on.names, on.after)
        team_name = caller.team or ""
        team = self.settings().teams[team_name]
        there = usable(self.settings(), team_name)
        known = {each.template: each.spec for each in candidates_of(run)}
        other = _spec_elsewhere(run, there)
        found = tuple(
            Option(
                team_at(team, template),
                _renewed(known.get(name, other), template),
                name,
                template,
                on.after or template.after,
                on.after is not None,
            )
            for name, template in _named(on.names, there, team_name).items()
        )
        _refuse_new_volumes(found)
        return found

    def kept(self, caller: Caller, kept: Sequence[Candidate]) -> tuple[Option, ...]:
        """Places that were chosen before, by the templates of today."""
        team_name = caller.team or ""
        team = self.settings().teams[team_name]
        there = usable(self.settings(), team_name)
        chosen = _named([each.template for each in kept], there, team_name)
        return tuple(
            Option(
                team_at(team, chosen[each.template]),
                _renewed(each.spec, chosen[each.template]),
                each.template,
                chosen[each.template],
                each.after if each.is_after_typed else chosen[each.template].after,
                each.is_after_typed,
            )
            for each in kept
        )

    def fitted(
        self, session: Session, caller: Caller, options: Sequence[Option]
    ) -> tuple[Option, ...]:
        """The places with the specs as each cluster can run them; UserError if one cannot."""
        found = []
        for option in options:
            with naming(option, options):
                spec, engine = self.fitting.fitted(session, caller, option.team, option.spec)
            found.append(self._priced(replace(option, spec=spec, engine=engine)))
        return tuple(found)

    def _priced(self, option: Option) -> Option:
        if option.template is None:
            return option
        prices = self.settings().training.prices
        cost = cost_of(option, prices)
        price = "" if cost is None else money_an_hour(cost, prices.currency)
        return replace(option, cost=cost, price=price)


def cost_of(option: Option, prices: Prices) -> Decimal | None:
    """What an hour of the run costs at a place; None if unknown, 0 without GPUs."""
    gpus, template = gpus_of(option.spec), option.template
    if not gpus:
        return Decimal(0)
    if template is not None and template.price_per_gpu_hour is not None:
        return template.price_per_gpu_hour * gpus
    start = start_of(option.spec, option.team, option.engine) if option.engine else None
    return hourly_price(option.spec, start, prices)


@contextmanager
def naming(option: Option, options: Sequence[Option]) -> Iterator[None]:
    """Has refusals within it name the template, and say how to submit the run without it."""
    try:
        yield
    except UserError as error:
        if option.template is None:
            raise
        error.message = f"Template {option.name}, on cluster {option.team.cluster}: {error.message}"
        others = [each.name for each in options if each.name != option.name]
        if others:
            leave = f"Or leave {option.name} out: `--on {','.join(others)}`."
            error.hint = f"{error.hint} {leave}".strip()
        raise


def _named(
    names: Iterable[str], there: Mapping[str, Template], team_name: str
) -> dict[str, Template]:
    found: dict[str, Template] = {}
    for name in names:
        if name not in there:
            known = f"It has: {', '.join(there)}." if there else _NONE
            raise NotFoundError(f"{team_name} has no compute template {name}.", known)
        if name in found:
            raise UsageError(
                f"`--on` names {name} twice.", f"Name it once: `--on {','.join(found)}`."
            )
        found[name] = there[name]
    return found


_NONE = "It has none. Platform admins define them under `templates` in quartermaster.yaml."


def _refuse_idle(after: timedelta | None) -> None:
    if after is not None:
        raise UsageError(
            "`--fallback-after` says when a run moves on to its next template, and it names none.",
            "Name two or more, for example `--on dgx,burst --fallback-after 30m`.",
        )


def _refuse_cluster(asked: Submission) -> None:
    if asked.cluster is not None:
        raise UsageError(
            "`--on` and `--cluster` both say where the run goes.",
            f"Leave `--cluster {asked.cluster}` out: each template has its cluster.",
        )


def _refuse_single(names: Sequence[str], after: timedelta | None) -> None:
    if after is not None and len(names) == 1:
        (only,) = names
        other = "dgx" if only == "burst" else "burst"
        raise UsageError(
            f"`--fallback-after` needs a second template to move on to; `--on` names {only} only.",
            f"Add one, for example `--on {only},{other}`, or leave `--fallback-after` out.",
        )


def _typed(asked: Submission, name: str, template: Template) -> Submission:
    """The submission with the GPU type of the template; UsageError if it names another."""
    if template.gpu_type is None or not asked.gpus:
        return asked
    if asked.gpu_type not in {None, template.gpu_type}:
        raise UsageError(
            f"Template {name} has GPUs of type {template.gpu_type}, not `--gpu-type"
            f" {asked.gpu_type}`.",
            "Leave `--gpu-type` out: each template has its own. `/train templates` lists them.",
        )
    return replace(asked, gpu_type=template.gpu_type)


def _spec_elsewhere(run: Run, there: Mapping[str, Template]) -> RunSpec:
    """The spec of an earlier run for a template that it did not name.

    A GPU type that its own template gave it stays there.
    """
    spec, here = asked_spec(run), current(run)
    template = there.get(here.template) if here is not None else None
    if template is None or template.gpu_type != spec.gpu_type:
        return spec
    return msgspec.structs.replace(spec, gpu_type=None)


def _renewed(spec: RunSpec, template: Template) -> RunSpec:
    """The spec of an earlier run on a template as that is today."""
    gpu_type = template.gpu_type if template.gpu_type and spec.gpus else spec.gpu_type
    selector = dict(template.node_selector)
    return msgspec.structs.replace(spec, gpu_type=gpu_type, node_selector=selector)


def _refuse_new_volumes(options: Sequence[Option], *, can_mount: bool = False) -> None:
    """ConflictError if PVCs were to be created in a cluster that the run may leave.

    With `can_mount`, the command can name other PVCs.
    """
    clusters = list(dict.fromkeys(each.team.cluster for each in options))
    volumes = options[0].spec.volumes
    if len(clusters) > 1 and volumes:
        made, hint = volumes[0], f"Name templates of one cluster: `--on {options[0].name}`."
        if can_mount:
            existing = f"`--pvc NAME:{made.path}`"
            hint += f" Or mount a PVC that exists under the same name in each: {existing}."
        raise ConflictError(
            f"`--pvc {made.storage_class}:{made.size}:{made.path}` creates a PVC in one cluster,"
            f" but this run may start on {' or '.join(clusters)}.",
            hint,
        )
