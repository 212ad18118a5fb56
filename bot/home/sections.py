"""The sections of a Home tab, each from what one person may see. Pure: no I/O."""

from collections.abc import Iterator, Mapping, Sequence

from bot.datasets.caches.evictions.notices import keep_buttons
from bot.datasets.caches.tables import Cache
from bot.gpus.status import allocation_line
from bot.home.facts import HomeFacts, OpenRequest, PlatformFacts
from bot.notices import CHOOSE, NoticeKind, Way
from bot.quotas.status import TeamStatus, TypeStatus
from bot.quotas.wording import amount
from bot.quotas.wording import gpus as gpus_of
from bot.slack.card import Button, Card, Progress, Tone
from bot.slack.home.page import FormButton, HomeItem, HomeSection
from bot.slack.markup import FormatCommand, Markup, bold, code, join, plain, sentence, when
from bot.slack.text import MARKS, headline, progress_text
from bot.training.idle.runs import SNOOZE
from bot.training.links import link_line
from bot.training.runs.card import LOGS, RESUBMIT, summary_card
from bot.training.runs.personal import EndedRun, TeamRuns
from bot.training.spec import spec_of
from bot.training.tables import BAD_ENDS, GOOD_ENDS, Run
from bot.training.wording import state_words

ENDED_SHOWN = 5
_MOST_LINES = 6
_MOST_FORMS = 5
_WAYS = {
    Way.THREAD: ("In threads", "you are mentioned in the thread of its card"),
    Way.DM: ("By direct message", "you get a direct message"),
    Way.NONE: ("Not at all", "you are not notified"),
}


def first_steps(submit: str, format_command: FormatCommand, teams: Sequence[str]) -> HomeSection:
    """What a person who has never had a run can type; `submit` is an example of a submission."""
    where = "your team's channel" if len(teams) == 1 else "a channel of your teams"
    steps = (
        join("*1.* Start a run: ", code(format_command(f"train {submit}"))),
        join("*2.* See where it is, and why it waits: ", code(format_command("train list"))),
        join("*3.* See your team's GPUs: ", code(format_command("quota status"))),
    )
    help_line = join(code(format_command("qm help")), " lists all commands.")
    typed = plain(f"Type these in {where}, or here under Messages without the slash.")
    return HomeSection("First steps", (*steps, typed, help_line))


def runs_section(
    facts: HomeFacts, runs: Sequence[Run], *, named: bool, format_command: FormatCommand
) -> HomeSection:
    """The person's live runs; `named` says which team each belongs to."""
    return HomeSection(
        f"Your runs ({len(runs)})" if runs else "Your runs",
        () if runs else (plain("None of your runs is live."),),
        tuple(_run(facts, run, named=named) for run in runs),
        rest=join(code(format_command("train list")), " lists them."),
    )


def idle_others(facts: HomeFacts, person: str, teams: Sequence[str]) -> tuple[Markup, ...]:
    """Workloads of the person outside the bot whose GPUs are idle."""
    return tuple(
        join(MARKS[Tone.WARNING], " ", bold(each.name),
             plain(f" ({each.team}), which Quartermaster did not start: its GPUs are idle since "),
             when(each.since), ".")
        for each in facts.others_idle.get(person, ())
        if each.team in teams
    )  # fmt: skip


def ended_section(
    runs: Sequence[EndedRun], facts: HomeFacts, *, named: bool, format_command: FormatCommand
) -> HomeSection:
    """The person's runs that ended last, to look at or to start again."""
    return HomeSection(
        "Ended lately",
        items=tuple(_ended(run, facts, named=named) for run in runs),
        rest=join(code(format_command("train list")), " lists them."),
    )


def decisions_section(
    requests: Sequence[OpenRequest], format_command: FormatCommand
) -> HomeSection:
    """The requests that wait for the person's vote."""
    return HomeSection(
        f"Waiting for your decision ({len(requests)})",
        items=tuple(_request(each, with_buttons=True) for each in requests),
        rest=join(code(format_command("approval list")), " lists them."),
    )


def quota_lines(statuses: Sequence[TeamStatus]) -> Iterator[Markup]:
    """A team's quota as bars, one for each GPU type and cluster."""
    is_in_many = len({each.cluster for each in statuses}) > 1
    for status in statuses:
        where = " for sessions" if status.is_for_sessions else ""
        where += f" in {status.cluster}" if is_in_many else ""
        if not status.queue:
            yield plain(f"The GPU quota{where} is not known yet.")
        yield from (_bar(each, where) for each in status.types)
        if status.pending_workloads:
            wanted = "" if status.pending_gpus is None else f" for {gpus_of(status.pending_gpus)}"
            wait = "workload waits" if status.pending_workloads == 1 else "workloads wait"
            yield plain(f"{status.pending_workloads} {wait}{where}{wanted}.")
        for row in status.overrides:
            if row.ends_at is not None:
                yield join(plain(f"Override of {gpus_of(row.amount)} of {row.flavor} until "),
                           when(row.ends_at), ".")  # fmt: skip
        if status.trouble:
            yield plain(f"Cluster {status.cluster} does not answer; its figures may be old.")


def team_runs(found: TeamRuns) -> Markup:
    """How much a team has going, for its leads."""
    if not found.live:
        return plain("The team has no live runs.")
    runs = f"{found.live} live run{'' if found.live == 1 else 's'}"
    whose = f"{found.people} {'person' if found.people == 1 else 'people'}"
    waiting = f", {found.waiting} of them waiting" if found.waiting else ""
    return plain(f"The team has {runs} of {whose}{waiting}.")


def platform_section(
    platform: PlatformFacts, runs: Mapping[str, TeamRuns], format_command: FormatCommand
) -> HomeSection:
    """The bot, the GPUs of all clusters and the runs of all teams, for admins."""
    live = sum(each.live for each in runs.values())
    waiting = sum(each.waiting for each in runs.values())
    teams = sum(1 for each in runs.values() if each.live)
    where = f"{teams} team{'' if teams == 1 else 's'}"
    some = f"{live} live run{'' if live == 1 else 's'} in {where}, {waiting} of them waiting."
    more = join(
        code(format_command("gpu status")),
        " and ",
        code(format_command("qm status")),
        " show more.",
    )
    lines = (
        plain(platform.status),
        *map(allocation_line, platform.clusters),
        plain(some if live else "No team has live runs."),
        more,
    )
    return HomeSection("Platform", lines)


def caches_section(
    team: str, leaving: Sequence[Cache], format_command: FormatCommand
) -> HomeSection:
    """The team's caches whose eviction is announced, with what keeps them."""
    return HomeSection(
        f"Caches of {team} to be evicted soon",
        items=tuple(_cache(each) for each in leaving),
        rest=join(code(format_command("dataset list")), " lists them."),
    )


def requests_section(
    team: str, requests: Sequence[OpenRequest], format_command: FormatCommand
) -> HomeSection:
    """The team's pending requests, for its leads."""
    return HomeSection(
        f"Requests of {team}",
        items=tuple(_request(each, with_buttons=False) for each in requests),
        rest=join(code(format_command("quota history")), " lists those for quota."),
    )


def notices_section(ways: Mapping[NoticeKind, Way], format_command: FormatCommand) -> HomeSection:
    """How the person is notified about their runs, with buttons to change it."""
    chosen = {way: [kind.value for kind in NoticeKind if ways[kind] is way] for way in Way}
    used = [way for way in Way if chosen[way]]
    if len(used) == 1:
        about = "When something happens to one of your runs"
        lines = [plain(f"{about}, {_WAYS[used[0]][1]}.")]
    else:
        lines = [plain(f"{', '.join(chosen[way])}: {_WAYS[way][1]}.") for way in used]
    each = join(code(format_command("notices dm --for failed")), " changes it for one kind.")
    buttons = tuple(Button(CHOOSE, _WAYS[way][0], way.value) for way in Way if used != [way])
    return HomeSection("Notices", (*lines, each), buttons=buttons)


def form_buttons(label: str, command: str, verb: str, teams: Sequence[str]) -> list[FormButton]:
    """A button that opens a form, for each team of several."""
    if len(teams) == 1:
        return [FormButton(label, command, verb, is_primary=True)]
    return [
        FormButton(f"{label} for {team}", command, f"{verb} --team {team}")
        for team in teams[:_MOST_FORMS]
    ]


def _run(facts: HomeFacts, run: Run, *, named: bool) -> HomeItem:
    card = summary_card(run, facts.stoppers.get(run.id, ""), facts.now)
    running = join(" since ", when(run.since)) if card.state == "Running" else ""
    figures = [plain(f" · {value}") for _, value in card.facts]
    team = plain(f" · {run.team}") if named else ""
    head = join(*_head(card), running, *figures, team)
    since = facts.idle.get(run.id) or run.idle_since
    idle = (join("Its GPUs have been idle since ", when(since), "."),) if since else ()
    snooze = (Button(SNOOZE, "Leave it alone for 4h", run.id),) if since else ()
    progress = (plain(progress_text(card.progress)),) if card.progress else ()
    lines = (head, *progress, *idle, *card.lines)
    has_links = facts.links or run.mlflow_url
    links = link_line(run, spec_of(run), facts.links) if has_links else ()
    return HomeItem((*lines[:_MOST_LINES], *links), (*card.buttons, *snooze))


def _head(card: Card) -> tuple[Markup, ...]:
    mark = MARKS[card.tone]
    return (Markup(f"{mark} " if mark else ""), bold(card.title), plain(f" · {card.state}"))


def _ended(run: EndedRun, facts: HomeFacts, *, named: bool) -> HomeItem:
    tone = Tone.BAD if run.phase in BAD_ENDS else Tone.STOPPED
    tone = Tone.GOOD if run.phase in GOOD_ENDS else tone
    at = (", ", when(run.ended_at)) if run.ended_at else ()
    team = plain(f" · {run.team}") if named else ""
    state = plain(f" · {state_words(run, facts.now)}")
    line = join(MARKS[tone], " ", bold(run.reference), state, *at, team)
    links = link_line(run, run.spec, facts.links) if facts.links or run.mlflow_url else ()
    buttons = (Button(RESUBMIT, "Resubmit", run.id), Button(LOGS, "Logs", run.id))
    return HomeItem((line, *links), buttons)


def _request(each: OpenRequest, *, with_buttons: bool) -> HomeItem:
    card = each.card
    facts = [join(bold(label), ": ", value) for label, value in card.facts]
    head = bold(headline(card.title, card.state, card.tone))
    return HomeItem((head, *facts, *card.lines), card.buttons if with_buttons else ())


def _bar(each: TypeStatus, where: str) -> Markup:
    figures = each.figures
    name = join(bold(figures.flavor), plain(where), "  ")
    if figures.used is None or figures.is_unlimited:
        nominal = "no limit" if figures.is_unlimited else f"of {gpus_of(figures.nominal)}"
        return join(name, plain(f"{amount(figures.used)} in use, {nominal}"))
    bar = progress_text(Progress(float(figures.used), float(figures.nominal), "GPUs"))
    more = [f"{amount(figures.borrowed)} borrowed"] if figures.borrowed else []
    if each.free_to_borrow:
        more.append(f"{amount(each.free_to_borrow)} free to borrow")
    return join(name, plain(" · ".join((bar, *more))))


def _cache(cache: Cache) -> HomeItem:
    leaves_at = cache.leaves_at
    assert leaves_at is not None  # noqa: S101  # only those are read
    line = join(bold(cache.reference), plain(f" on {cache.place}, "), when(leaves_at), ". ",
                sentence(cache.evict_why))  # fmt: skip
    return HomeItem((line,), keep_buttons(cache, leaves_at))
