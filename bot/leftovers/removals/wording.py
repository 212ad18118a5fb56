"""Texts about removals that need an approval. Pure: no I/O."""

from collections.abc import Sequence

from bot.approvals import Approval
from bot.config import Leftovers
from bot.leftovers.removals.tables import RemovalRequest
from bot.slack.card import Reply
from bot.slack.markup import join, person, plain, when
from bot.volumes.wording import GIB, capacity, money


def held(size_bytes: int | None, cost: float | None) -> str:
    """What something holds and costs, such as "holds 2 TiB and costs 204.80 a month"."""
    size = "holds an unknown amount" if size_bytes is None else f"holds {capacity(size_bytes)}"
    return f"{size} and costs {f'{money(cost)} a month' if cost is not None else 'an unknown sum'}"


def amounts(size_bytes: int | None, cost: float | None) -> str:
    """What something holds and costs, such as "2 TiB and 204.80 a month"."""
    size = "an unknown size" if size_bytes is None else capacity(size_bytes)
    return f"{size} and {f'{money(cost)} a month' if cost is not None else 'an unknown cost'}"


def limits(leftovers: Leftovers) -> str:
    """The limits that are set, such as "1 TiB or 100.00 a month"."""
    found = []
    if leftovers.approve_above_gib is not None:
        found.append(capacity(round(leftovers.approve_above_gib * GIB)))
    if leftovers.approve_above is not None:
        found.append(f"{money(leftovers.approve_above)} a month")
    return " or ".join(found)


def kept(row: RemovalRequest) -> str:
    """That a thing stays, as a sentence."""
    return f"{row.title[:1].upper()}{row.title[1:]} was not removed."


def receipt(
    row: RemovalRequest, approval: Approval, deciders: Sequence[str], leftovers: Leftovers
) -> Reply:
    """The answer to a click on a button whose removal waits for an approval."""
    why = plain(f"It {held(row.size_bytes, row.cost)}; above {limits(leftovers)} a removal needs"
                " approval.")  # fmt: skip
    who = " or ".join(person(each) for each in deciders)
    asked = join("Requested an approval to remove ", plain(f"{row.title}. "), who,
                 " can give it until ", when(approval.expires_at), ".")  # fmt: skip
    after = plain("Until then it stays. A card in this channel shows the request.")
    return Reply((why, asked, after))
