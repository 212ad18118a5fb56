"""Texts about requests to submit runs above a cost limit."""

from collections.abc import Iterable, Sequence

from bot.approvals import Approval
from bot.slack.card import Reply
from bot.slack.markup import Markup, code, join, person, plain, when
from bot.training.placing.limits import above_words, cost_words
from bot.training.requests.tables import RunRequest, asked_run


def receipt(row: RunRequest, approval: Approval, deciders: Sequence[str]) -> Reply:
    """The answer to a submission that waits for an approval."""
    costs = asked_run(row).costs
    lines = [plain(f"{cost_words(each)}; its limit is {each.limit_words}.") for each in costs]
    who = " or ".join(person(each) for each in deciders)
    asked = join("Requested an approval to submit ", code(row.name), plain(f" for {row.team}. "),
                 who, " can give it until ", when(approval.expires_at), ".")  # fmt: skip
    after = plain(f"Then the {row.what} is submitted. A card in this channel shows the request.")
    return Reply((*lines, asked, after))


def waiting_lines(rows: Iterable[RunRequest]) -> Sequence[Markup]:
    """What a list of runs says about undecided requests."""
    return tuple(
        join("Waits for an approval of its cost: ", code(row.name),
             plain(f", {above_words(asked_run(row).costs)}, requested "), when(row.asked_at))
        for row in rows
    )  # fmt: skip
