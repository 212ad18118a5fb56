"""Starts a run: submits it, offers it with the caches that it lacks, or requests its cost."""

from collections.abc import Callable, Iterable
from datetime import timedelta

from bot.commands.context import Context
from bot.people.access import Caller
from bot.slack.card import Reply
from bot.slack.grammar.declarations import Parameter
from bot.slack.grammar.parameters import LONGEST_NAME, short_name
from bot.slack.markup import Markup, code, join
from bot.training.offers.replies import offered
from bot.training.placing.choosing import TemplatesAsked
from bot.training.placing.limits import CostlyRun, CostlyRunError
from bot.training.requests.wording import receipt as request_receipt
from bot.training.runs.replies import receipt
from bot.training.spec import asked_spec
from bot.training.submission.building import Submission
from bot.training.submission.new_run import Submitted, UncachedRunError
from bot.training.submission.presets import presets_of, with_preset
from bot.training.tables import Run


def templates_for(
    ctx: Context,
    run: Run,
    names: tuple[str, ...],
    after: timedelta | None,
    options: Iterable[Parameter],
) -> TemplatesAsked | None:
    """The templates on which an earlier run is to wait now; None if none are named.

    NotAllowedError if its preset locks others; `options` are those of a submission.
    """
    if not names and after is None:
        return None
    presets, preset = presets_of(ctx.settings, ctx.settings.teams[run.team]), asked_spec(run).preset
    if preset in presets:
        asked = Submission(run.name, preset=preset, templates=names, fallback_after=after)
        with_preset(asked, presets, options)
    return TemplatesAsked(names, after)


def resubmitted(ctx: Context, caller: Caller, run: Run, on: TemplatesAsked | None = None) -> Reply:
    """Submits a run again, as it was, or `on` other compute templates."""
    ctx.training.sweeps.refuse_name(ctx.session, run.team, run.name)
    resubmit = ctx.training.runs.resubmit
    return started(ctx, caller, lambda: resubmit(ctx.session, caller, run, ctx.now, on=on))


def restarted(ctx: Context, caller: Caller, run: Run, snapshot: str) -> Reply:
    """Submits a run again from a snapshot; by default the one of its end."""
    ctx.training.sweeps.refuse_name(ctx.session, run.team, run.name)
    restart = ctx.training.runs.restart
    return started(ctx, caller, lambda: restart(ctx.session, caller, run, snapshot, ctx.now))


def started(ctx: Context, caller: Caller, submit: Callable[[], Submitted]) -> Reply:
    """The answer to a submission.

    If only caches are missing, it is their cost; if only an approval of its own cost is missing,
    that is requested.
    """
    try:
        submitted = submit()
    except UncachedRunError as lacking:
        return offered(
            ctx.training.offers.offer(ctx.session, caller, lacking, ctx.now), ctx.format_command
        )
    except CostlyRunError as costly:
        return requested(ctx, caller, costly.asked)
    said = receipt(submitted, ctx.format_command(f"train stop {submitted.name}"))
    return Reply((*shortened(ctx, submitted.name), *said))


def requested(ctx: Context, caller: Caller, asked: CostlyRun) -> Reply:
    """Requests an approval of what a run or a sweep costs."""
    requests = ctx.training.requests
    row, approval = requests.ask(ctx.session, caller, asked, ctx.now)
    return request_receipt(row, approval, requests.deciders(ctx.session, approval))


def shortened(ctx: Context, name: str) -> tuple[Markup, ...]:
    """A line that says so if the command has a longer name for what is called `name`."""
    longer = next((each for each in ctx.said if each != name and short_name(each) == name), None)
    if longer is None:
        return ()
    line = f" is longer than {LONGEST_NAME} characters, so the run is called "
    return (join(code(longer), line, code(name), "."),)
