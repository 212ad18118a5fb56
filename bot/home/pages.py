"""The Home page of one person, from what they may see. Pure: no I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.errors import QuartermasterError
from bot.home import sections
from bot.home.facts import HomeFacts
from bot.people.access import Caller, Right, Role, UnknownPersonError
from bot.slack.card import Button
from bot.slack.home.page import REFRESH, FormButton, HomePage, HomeSection
from bot.slack.markup import FormatCommand, code, join, plain, sentence
from bot.training.runs.personal import TeamRuns

_REFRESH = Button(REFRESH, "Refresh", "")
_NO_TEAM = "You belong to no team, so there is nothing of yours to show here."


@dataclass(frozen=True)
class Wording:
    """How commands are typed, and an example of a submission."""

    format_command: FormatCommand
    submit: str


def closed_page(error: QuartermasterError) -> HomePage:
    """The page of a person who may see nothing: why, and whom to ask."""
    title = "One moment" if isinstance(error, UnknownPersonError) else "No access"
    hint = "This page follows in a few seconds." if title == "One moment" else error.hint
    lines = tuple(sentence(line) for line in (error.message, hint) if line)
    return HomePage((HomeSection(title, lines),))


def broken_page(wording: Wording) -> HomePage:
    """The page instead of one that cannot be made."""
    commands = join(code(wording.format_command("qm help")), " lists what works meanwhile.")
    lines = (plain("Something went wrong on our side."), commands)
    return HomePage((HomeSection("Quartermaster", lines, buttons=(_REFRESH,)),))


def home_page(facts: HomeFacts, callers: Sequence[Caller], wording: Wording) -> HomePage:
    """The page of a person, who is `callers` in their teams."""
    return HomePage(tuple(_Page(facts, callers, wording).sections()))


class _Page:
    """Picks what one person may see from what there is."""

    def __init__(self, facts: HomeFacts, callers: Sequence[Caller], wording: Wording) -> None:
        self._facts = facts
        self._callers = callers
        self._person = callers[0].person
        self._format_command = wording.format_command
        self._submit = wording.submit
        self._is_admin = any(Role.ADMIN in each.roles for each in callers)

    def sections(self) -> Iterator[HomeSection]:
        """All of the page, from top to bottom."""
        yield self._top()
        if waiting := [each for each in self._facts.requests if self._person in each.deciders]:
            yield sections.decisions_section(waiting, self._format_command)
        if self._teams(Right.RUN_READ) or self._is_admin:
            yield from self._runs()
        for each in self._callers:
            if each.team is not None:
                yield from self._team(each, each.team)
        if self._is_admin:
            facts = self._facts
            yield sections.platform_section(facts.platform, facts.runs, self._format_command)
        if self._teams(Right.NOTICES):
            ways = self._facts.ways[self._person]
            yield sections.notices_section(ways, self._format_command)

    def _top(self) -> HomeSection:
        teams = [f"{each.team} ({_role(each)})" for each in self._callers if each.team]
        lines = [plain(f"Your teams: {', '.join(teams)}.")] if teams else []
        if self._is_admin:
            lines.append(plain("You are a platform admin."))
        if not lines:
            advice = "Ask a platform admin to add you to one."
            lines = [plain(_NO_TEAM), plain(advice)]
        forms = self._forms("Submit training", "train", "submit", Right.RUN_SUBMIT)
        return HomeSection("Quartermaster", tuple(lines), buttons=(*forms, _REFRESH))

    def _runs(self) -> Iterator[HomeSection]:
        named = len(self._callers) > 1 or self._callers[0].team is None
        teams = self._teams(Right.RUN_READ)
        live = [each for each in self._facts.live.get(self._person, ()) if self._sees(each.team)]
        ended = [each for each in self._facts.ended.get(self._person, ()) if self._sees(each.team)]
        typed = self._format_command
        if not live and not ended:
            if teams:
                yield sections.first_steps(self._submit, typed, teams)
            return
        idle = sections.idle_others(self._facts, self._person, teams)
        section = sections.runs_section(self._facts, live, named=named, format_command=typed)
        yield HomeSection(section.title, (*section.lines, *idle), section.items, rest=section.rest)
        if ended:
            shown = ended[: sections.ENDED_SHOWN]
            yield sections.ended_section(shown, self._facts, named=named, format_command=typed)

    def _team(self, caller: Caller, team: str) -> Iterator[HomeSection]:
        typed, is_head = self._format_command, not caller.roles.isdisjoint({Role.LEAD, Role.ADMIN})
        if caller.may(Right.QUOTA_READ):
            lines = list(sections.quota_lines(self._facts.quotas.get(team, ())))
            if is_head:
                lines.append(sections.team_runs(self._facts.runs.get(team, TeamRuns())))
            ask = self._forms("Request GPU quota", "quota", "request", Right.QUOTA_REQUEST, team)
            yield HomeSection(f"GPUs of {team}", tuple(lines), buttons=ask)
        leaving = [each for each in self._facts.leaving if each.team == team]
        if leaving and caller.may(Right.DATASET_PIN):
            yield sections.caches_section(team, leaving, typed)
        asked = [
            each
            for each in self._facts.requests
            if each.approval.team == team and self._person not in each.deciders
        ]
        if asked and is_head:
            yield sections.requests_section(team, asked, typed)

    def _forms(
        self, label: str, command: str, verb: str, right: Right, team: str = ""
    ) -> list[FormButton]:
        teams = [each for each in self._teams(right) if team in {"", each}]
        if team and teams and len(self._callers) > 1:
            return [FormButton(label, command, f"{verb} --team {team}")]
        return sections.form_buttons(label, command, verb, teams)

    def _teams(self, right: Right) -> list[str]:
        return [each.team for each in self._callers if each.team is not None and each.may(right)]

    def _sees(self, team: str) -> bool:
        return self._is_admin or team in self._teams(Right.RUN_READ)


def _role(caller: Caller) -> str:
    return "lead" if Role.LEAD in caller.roles else "member"
