"""The limits of compute templates on what a run may cost, and the error of a run above them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import msgspec

from bot.errors import NotAllowedError
from bot.people.access import Caller, Right
from bot.training.placing.choosing import Option
from bot.training.spec import Data, RunSpec
from bot.training.templates.candidates import Candidate
from bot.training.wording import money_an_hour


class ExcessCost(msgspec.Struct, frozen=True, kw_only=True):
    """What an hour of a run costs on a compute template above its limit; None if unknown."""

    template: str
    cluster: str
    queue: str
    hourly: Decimal | None
    limit: Decimal
    currency: str

    @property
    def cost(self) -> str:
        """What an hour costs, in words."""
        return "unknown" if self.hourly is None else money_an_hour(self.hourly, self.currency)

    @property
    def limit_words(self) -> str:
        """The limit, in words."""
        return money_an_hour(self.limit, self.currency)


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes;
# so it meets this one here, while there is one thread.
msgspec.json.Decoder(ExcessCost)


@dataclass(frozen=True)
class CostlyRun:
    """A run that costs more than the person may spend, as it was requested.

    `places` are where it may wait. Its data is resolved, so that it stays the same however long
    an approval takes.
    """

    name: str
    places: tuple[Candidate, ...]
    costs: tuple[ExcessCost, ...]


class CostlyRunError(NotAllowedError):
    """A run that needs an approval of its costs; everything else about it was checked."""

    def __init__(self, asked: CostlyRun) -> None:
        first = asked.costs[0]
        super().__init__(
            f"{cost_words(first)}; above {first.limit_words}, only leads and admins can submit a"
            " run to it.",
            "Ask a lead of the team to submit it, request fewer GPUs, or leave the template out.",
        )
        self.asked = asked


def above_limits(
    caller: Caller, options: Iterable[Option], currency: str
) -> tuple[ExcessCost, ...]:
    """What fitted places cost above the limits of their templates; nothing for leads and admins."""
    if caller.may(Right.RUN_SUBMIT_COSTLY):
        return ()
    found = []
    for each in options:
        limit = each.template.leads_above if each.template else None
        if limit is None or (each.cost is not None and each.cost <= limit):
            continue
        place = each.candidate
        found.append(
            ExcessCost(
                template=each.name,
                cluster=place.cluster,
                queue=place.queue,
                hourly=each.cost,
                limit=limit,
                currency=currency,
            )
        )
    return tuple(found)


def cost_words(excess: ExcessCost) -> str:
    """What the run costs on the template, as the beginning of a sentence."""
    if excess.hourly is None:
        return f"What this run costs on template {excess.template} is unknown"
    return f"On template {excess.template}, this run costs {excess.cost}"


def approval_words(excess: ExcessCost) -> str:
    """What becomes of a run of this cost, before it is submitted."""
    return f"{cost_words(excess)}; above {excess.limit_words}, it waits for an approval."


def asked_again(asked: RunSpec, resolved: Sequence[Data]) -> RunSpec:
    """The spec as it was requested, with its data as it was resolved."""
    data = tuple(
        msgspec.structs.replace(each, reference=there.reference, digest=there.digest)
        for each, there in zip(asked.data, resolved, strict=True)
    )
    return msgspec.structs.replace(asked, data=data)
