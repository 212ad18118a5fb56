"""The limits of compute templates on what a run may cost, and the error of a run above them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import msgspec

from bot.errors import NotAllowedError
from bot.people.access import Caller, Right
from bot.training.placing.choosing import Option
from bot.training.spec import Data, RunSpec
from bot.training.submission.new_run import AskedRun
from bot.training.submission.sweep_terms import SweepTerms
from bot.training.templates.candidates import Candidate
from bot.training.wording import listed, money_an_hour


class ExcessCost(msgspec.Struct, frozen=True, kw_only=True):
    """What an hour of a run costs on a compute template above its limit; None if unknown.

    Of a sweep, it is what `at_once` runs cost together.
    """

    template: str
    cluster: str
    queue: str
    hourly: Decimal | None
    limit: Decimal
    currency: str
    at_once: int | None = None

    @property
    def what(self) -> str:
        """Whether a run costs that, or a sweep."""
        return "run" if self.at_once is None else "sweep"

    @property
    def cost(self) -> str:
        """What an hour costs, in words."""
        return "unknown" if self.hourly is None else money_an_hour(self.hourly, self.currency)

    @property
    def product(self) -> str:
        """How that comes about, such as "2 runs at once x 36.00"; empty for a single run."""
        if self.hourly is None or (self.at_once or 1) == 1:
            return ""
        return f"{self.at_once} runs at once x {self.hourly / (self.at_once or 1):,.2f}"

    @property
    def limit_words(self) -> str:
        """The limit, in words."""
        return money_an_hour(self.limit, self.currency)


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes;
# so it meets this one here, while there is one thread.
msgspec.json.Decoder(ExcessCost)


@dataclass(frozen=True)
class CostlyRun:
    """A run that costs more than the person may spend, as it was requested; or a `sweep` of runs.

    `places` are where it may wait. Its data is resolved, so that it stays the same however long
    an approval takes.
    """

    name: str
    places: tuple[Candidate, ...]
    costs: tuple[ExcessCost, ...]
    sweep: SweepTerms | None = None

    @property
    def asked(self) -> AskedRun:
        """The run as it is submitted once its costs are approved."""
        first = self.places[0]
        at_once = self.sweep.at_once if self.sweep else None
        return AskedRun(self.name, first.cluster, first.spec, self.places, at_once)


class CostlyRunError(NotAllowedError):
    """A run that needs an approval of its costs; everything else about it was checked."""

    def __init__(self, asked: CostlyRun) -> None:
        first = asked.costs[0]
        fewer = "request fewer GPUs" if first.what == "run" else "lower `--at-most`"
        super().__init__(
            f"{cost_words(first)}; above {first.limit_words}, only leads and admins can submit a"
            f" {first.what} to it.",
            f"Ask a lead of the team to submit it, {fewer}, or leave the template out.",
        )
        self.asked = asked


def above_limits(
    caller: Caller, options: Iterable[Option], currency: str, at_once: int | None = None
) -> tuple[ExcessCost, ...]:
    """What fitted places cost above the limits of their templates; nothing for leads and admins.

    Of a sweep, all runs count that are live `at_once`: otherwise a sweep of many small runs would
    pass any limit.
    """
    if caller.may(Right.RUN_SUBMIT_COSTLY):
        return ()
    found = []
    for each in options:
        limit = each.template.leads_above if each.template else None
        hourly = None if each.cost is None else each.cost * (at_once or 1)
        if limit is None or (hourly is not None and hourly <= limit):
            continue
        place = each.candidate
        found.append(
            ExcessCost(
                template=each.name,
                cluster=place.cluster,
                queue=place.queue,
                hourly=hourly,
                limit=limit,
                currency=currency,
                at_once=at_once,
            )
        )
    return tuple(found)


def cost_words(excess: ExcessCost) -> str:
    """What the run costs on the template, as the beginning of a sentence."""
    if excess.hourly is None:
        return f"What this {excess.what} costs on template {excess.template} is unknown"
    product = f" ({excess.product})" if excess.product else ""
    return f"On template {excess.template}, this {excess.what} costs {excess.cost}{product}"


def approval_words(excess: ExcessCost) -> str:
    """What becomes of a run of this cost, before it is submitted."""
    return f"{cost_words(excess)}; above {excess.limit_words}, it waits for an approval."


def above_words(costs: Sequence[ExcessCost]) -> str:
    """The costs with their templates, such as "36.00 USD an hour on burst"."""
    return listed([f"{each.cost} on {each.template}" for each in costs])


def changed_words(approved: Sequence[ExcessCost], costs: Sequence[ExcessCost]) -> str:
    """Why an approval of costs does not cover those of today, as a sentence."""
    if above_words(costs) == above_words(approved):
        new = next(each for each in costs if each not in approved)
        return (
            f"Template {new.template} has changed since its cost was approved; its limit is"
            f" {new.limit_words} now."
        )
    return f"It would cost {above_words(costs)} now, and {above_words(approved)} was approved."


def asked_again(asked: RunSpec, resolved: Sequence[Data]) -> RunSpec:
    """The spec as it was requested, with its data as it was resolved."""
    data = tuple(
        msgspec.structs.replace(each, reference=there.reference, digest=there.digest)
        for each, there in zip(asked.data, resolved, strict=True)
    )
    return msgspec.structs.replace(asked, data=data)
