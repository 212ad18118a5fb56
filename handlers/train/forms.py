"""What the form of `/train submit` shows: options of the kind, and what would happen."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bot.commands.context import Context
from bot.slack.grammar.declarations import Verb
from bot.slack.grammar.form_plans import FormPlan
from bot.slack.markup import Markup, plain
from bot.training.kinds import KINDS
from bot.training.placing.choosing import usable
from bot.training.submission.building import JOB, KIND_OPTIONS, Submission
from bot.training.submission.outlook import outlook_lines
from bot.training.submission.presets import presets_of, with_preset
from bot.training.sweeps.asking import refuse_lonely

_CELL = "Each of its runs"
_OPEN = ("host_network", "privileged")
_PLACING = ("templates", "fallback_after")


def _applying(ctx: Context, texts: Mapping[str, str]) -> Collection[str]:
    """The options of the kind that is chosen, or that the preset sets."""
    preset = _presets(ctx).get(texts.get("preset", ""))
    options = preset.options() if preset else {}
    name = texts.get("kind") or str(options.get("kind") or JOB)
    forms = [each.form for each in KINDS.values() if each.name == name]
    kind = KINDS.get((name, texts.get("form") or str(options.get("form") or "")))
    kind = kind or KINDS.get((name, ""))
    found = set(kind.options if kind else ()) & set(KIND_OPTIONS)
    found = found - _closed(ctx, name) | ({"form"} if len(forms) > 1 else set())
    has_templates = ctx.caller.team and usable(ctx.settings, ctx.caller.team)
    return found | (set(_PLACING) if has_templates else set())


def _closed(ctx: Context, kind: str) -> set[str]:
    """The options that the team may not use with the kind."""
    team = ctx.settings.teams.get(ctx.caller.team or "")
    return {each for each in _OPEN if team is None or kind not in getattr(team.admission, each)}


def _presets(ctx: Context) -> Mapping[str, Any]:
    team = ctx.settings.teams.get(ctx.caller.team or "")
    return presets_of(ctx.settings, team) if team else {}


def _foresee(ctx: Context, verb: Verb, asked: Submission) -> Sequence[Markup]:
    whole = with_preset(asked, _presets(ctx), verb.parameters)
    refuse_lonely(whole)
    if whole.sweep:
        sweep, each = ctx.training.sweeps.foresee(ctx.session, ctx.caller, whole)
        costs = (plain(line) for line in sweep.costs)
        return (plain(sweep.sentence), *outlook_lines(each, ctx.format_command, _CELL), *costs)
    outlook = ctx.training.runs.foresee(ctx.session, ctx.caller, whole)
    return outlook_lines(outlook, ctx.format_command)


SUBMISSION = FormPlan(
    fields=(
        "preset", "image", "kind", "gpus", "gpu_type", "nodes", "processes", "launcher", "pvc",
        "data", "time", "priority", "after",
    ),
    watched=("preset", "kind", "gpus", "gpu_type", "nodes", "templates"),
    dependent=("form", *_PLACING, *KIND_OPTIONS),
    applying=_applying,
    foresee=_foresee,
)  # fmt: skip
