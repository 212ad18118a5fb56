"""The options --curves, --over and --file of /train show and /train compare."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.commands.context import Context
from bot.errors import UsageError
from bot.slack.card import Reply
from bot.slack.grammar.parameters import Choice
from bot.training.series.axis import Over
from bot.training.series.card import CurvesRequest, Metrics, curves_card
from bot.training.series.service import series_of
from bot.training.tables import Run

OVER = Choice(*Over)
CURVES_HELP = "Curves of metrics, e.g. loss (default: its losses)"
OVER_HELP = "What to draw curves over (default: step, else epoch, else time)"
FILE_HELP = "Send the curves as a picture"


@dataclass(frozen=True)
class CurvesAsked:
    """The three options as they were given; `curves` is empty for the usual metrics."""

    curves: str | None
    over: str | None = None
    file: bool = False

    def refuse_alone(self, example: str) -> None:
        """UsageError for an option that is about curves if none were requested."""
        given = "--over" if self.over else "--file" if self.file else ""
        if self.curves is None and given:
            raise UsageError(
                f"`{given}` is about curves.", f"Add `--curves`, for example `{example}`."
            )

    @property
    def request(self) -> CurvesRequest:
        """The metrics to draw, over what and how."""
        named = (name.strip() for name in (self.curves or "").split(","))
        names = tuple(dict.fromkeys(name for name in named if name))
        return CurvesRequest(names, Over(self.over) if self.over else None, self.file)


def curves_of(ctx: Context, runs: Sequence[Run], asked: CurvesAsked) -> Reply:
    """The curves of the runs; a picture is drawn after the acknowledgement."""
    found = [Metrics(run, series_of(ctx.session, run.id)) for run in runs]
    card = curves_card(found, asked.request)
    return Reply(later=lambda: Reply(card=card)) if asked.file else Reply(card=card)
