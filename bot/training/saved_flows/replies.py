"""What only one person sees of saved flows: receipts and the list."""

from collections.abc import Sequence
from datetime import datetime

from bot.slack.card import AsFile, Card, Reply, Table
from bot.slack.markup import FormatCommand, Markup, code, join, plain, when
from bot.training.saved_flows.starting import StartedFlow
from bot.training.saved_flows.steps import FlowStep, steps_of
from bot.training.saved_flows.tables import Flow, FlowPhase
from bot.training.submission.new_run import Submitted
from bot.training.wording import listed, start_words

_HEADER = ("Flow", "Runs", "Schedule", "Time zone", "Next (UTC)", "Remarks")


def saved(flow: Flow, format_command: FormatCommand) -> Reply:
    """The answer to `flow save`: what each run waits for."""
    steps = steps_of(flow.steps)
    run = code(format_command(f"train flow run {flow.name}"))
    cron = code(format_command(f'train flow schedule {flow.name} --cron "0 2 * * *"'))
    return Reply(
        (
            join("Saved flow ", code(flow.name), plain(f" of {counted(steps)} for {flow.team}.")),
            *map(_step_line, steps),
            join(run, " starts it, ", cron, " every night."),
        )
    )


def started(made: StartedFlow, format_command: FormatCommand) -> Reply:
    """The answer to `flow run`: one receipt for all its runs."""
    first = made.runs[0]
    stop = code(format_command(f"train stop {first.name}"))
    runs, is_one = made.runs, len(made.runs) == 1
    said = f" for {first.team}: {listed([each.reference for each in runs])}."
    cards = "Its card in this channel follows it. " if is_one else (
        "Their cards in this channel follow them. "
    )  # fmt: skip
    rest = " stops it." if is_one else f" stops {first.name}, and what waits for its success."
    return Reply(
        (
            join("Started flow ", code(made.flow.name), plain(said)),
            *map(_run_line, (each for each in runs if each.spec.after)),
            join(cards, stop, plain(rest)),
            *(plain(f"{each.reference}: {said}") for each in runs for said in each.warnings),
        )
    )


def scheduled(flow: Flow, second: datetime, format_command: FormatCommand) -> Reply:
    """The answer to `flow schedule`, with the next two starts."""
    stop = code(format_command(f"train flow unschedule {flow.name}"))
    first = flow.next_at or second
    return Reply(
        (
            join("Flow ", code(flow.name), " starts at ", code(flow.cron),
                 plain(f" in {flow.time_zone}: next "), when(first), ", then ", when(second), "."),
            plain("Its runs are yours. A start is skipped while runs of the last one have not"
                  " ended."),
            join("Its card in ", f"<#{flow.channel}>", " shows it. ", stop,
                 " stops the schedule."),
        )
    )  # fmt: skip


def unscheduled(flow: Flow, options: str, format_command: FormatCommand) -> Reply:
    """The answer to `flow unschedule`, with the command that starts the schedule again."""
    again = code(format_command(f"train flow schedule {flow.name} {options}"))
    line = join("Flow ", code(flow.name), " has no schedule any more. Its runs go on. ", again,
                " starts the schedule again.")  # fmt: skip
    return Reply((line,))


def deleted(flow: Flow) -> Reply:
    """The answer to `flow delete`."""
    return Reply((join("Deleted flow ", code(flow.name), ". Its runs go on."),))


def flows(team: str, rows: Sequence[Flow], format_command: FormatCommand) -> Reply:
    """A table of a team's saved flows."""
    if not rows:
        save = code(format_command("train flow save nightly train"))
        line = join(plain(f"{team} has no saved flows. To save the run train with all that it waits"
                          " for, and all that waits for it: "), save)  # fmt: skip
        return Reply(card=Card(f"Flows of {team}", lines=(line,)))
    return Reply(card=Card(f"Flows of {team}", table=Table(_HEADER, tuple(map(_cells, rows)))))


def argo(flow: Flow, text: str) -> Reply:
    """The flow as YAML for Argo Workflows, as a file if it is long."""
    line = plain(
        "Argo creates the objects of the runs, which wait in their queue as usual. Cards, limits of"
        " the team, and holds on caches are not part of it."
    )
    card = Card(f"Argo Workflow of {flow.name}", lines=(line,), document=text,
                as_file=AsFile(f"{flow.name}.yaml"))  # fmt: skip
    return Reply(card=card)


def counted(steps: Sequence[FlowStep]) -> str:
    """How many runs it has."""
    return f"{len(steps)} run{'' if len(steps) == 1 else 's'}"


def _cells(flow: Flow) -> tuple[str, ...]:
    names = ", ".join(each.name for each in steps_of(flow.steps))
    coming = f"{flow.next_at:%Y-%m-%d %H:%M}" if flow.next_at is not None else ""
    paused = "Paused. " if flow.phase == FlowPhase.PAUSED else ""
    remark = f"{paused}{flow.trouble or flow.obstacle or flow.reason}"
    return flow.name, names, flow.cron, flow.time_zone, coming, remark


def _step_line(step: FlowStep) -> Markup:
    if not step.after:
        return join(code(step.name), " starts at once.")
    return join(code(step.name), plain(f" starts after {listed([e.spelled for e in step.after])}."))


def _run_line(run: Submitted) -> Markup:
    (said,) = start_words(run.spec)
    return join(code(run.reference), plain(said.removeprefix("It")))
