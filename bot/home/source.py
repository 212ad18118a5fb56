"""Makes people's Home pages, and says which of them have changed."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Generic, TypeVar

import structlog

from bot.clock import Clock
from bot.commands.repeating import form_button
from bot.database.database import Database, Session
from bot.errors import NotAllowedError
from bot.home.facts import HomeFacts, HomeScope, PlatformFacts, gather
from bot.home.pages import Wording, broken_page, closed_page, home_page
from bot.people.access import Caller, Role
from bot.services import Services
from bot.slack.blocks import Rendered, digest_of
from bot.slack.card import Button
from bot.slack.grammar.registry import Registry
from bot.slack.home.page import FormButton, HomePage
from bot.slack.home.publisher import Prepared
from bot.slack.home.tabs import WATCHED, OpenTab
from bot.slack.home.view import home_view
from bot.slack.messages import Renderer
from bot.status.replies import status_line

log = structlog.get_logger()

T = TypeVar("T")

_AT_ONCE = 20
_MEMO_SECONDS = 30.0


class HomeSource:
    """Makes Home pages from what the services know; calls nothing outside the database."""

    def __init__(
        self,
        services: Services,
        renderers: Mapping[str, Renderer],
        database: Database,
        clock: Clock,
        registry: Registry,
    ) -> None:
        self._services = services
        self._renderers = renderers
        self._database = database
        self._clock = clock
        self._registry = registry
        submit = registry.commands["train"].verbs["submit"].examples[0]
        self._wording = Wording(registry.slash.of, submit)
        self._platform = _Recent[PlatformFacts](_MEMO_SECONDS)

    def digests(self, tabs: Sequence[OpenTab]) -> dict[str, str]:
        """What each of these tabs says now, as digests; requests of people come in between."""
        facts = self._database.read(lambda session: self._facts_of_all(session, tabs))
        found: dict[str, str] = {}
        for start in range(0, len(tabs), _AT_ONCE):
            self._database.gate.yield_to_foreground()
            some = tabs[start : start + _AT_ONCE]
            found |= self._database.read(partial(self._some, facts=facts, tabs=some))
        return found

    def prepare(self, tab: OpenTab) -> Prepared:
        """The content of a person's tab, read now."""

        def work(session: Session) -> Prepared:
            facts = self._facts_of_one(session, tab)
            page, callers = self._page(session, facts, tab)
            access = digest_of([_rights(each) for each in callers], 8)
            return Prepared(_digest(page), access, self._view(page, tab))

        return self._database.read(work)

    def access(self, who: Sequence[str]) -> dict[str, str]:
        """The rights of these people by which their tabs are made, as digests."""

        def work(session: Session) -> dict[str, str]:
            return {
                each: digest_of([_rights(c) for c in self._callers(session, each, "")[0]], 8)
                for each in who
            }

        return self._database.read(work)

    def _facts_of_all(self, session: Session, tabs: Sequence[OpenTab]) -> HomeFacts:
        """What tabs show, of every team."""
        now, people = self._clock.now(), [each.person for each in tabs]
        platform = self._platform.get(partial(self._look, session, now))
        scope = HomeScope(people, self._services.settings().teams, platform=platform)
        return gather(self._services, self._renderers, session, scope, now)

    def _facts_of_one(self, session: Session, tab: OpenTab) -> HomeFacts:
        """What one tab shows, of its person's teams."""
        now, (callers, _) = self._clock.now(), self._callers(session, tab.person, tab.channel)
        roles = {role for each in callers for role in each.roles}
        is_admin = Role.ADMIN in roles
        scope = HomeScope(
            people=[tab.person],
            teams=[each.team for each in callers if each.team],
            has_heads=not roles.isdisjoint({Role.LEAD, Role.ADMIN}),
            platform=self._platform.put(self._look(session, now)) if is_admin else PlatformFacts(),
        )
        return gather(self._services, self._renderers, session, scope, now)

    def _look(self, session: Session, now: datetime) -> PlatformFacts:
        status = status_line(self._services.status.look(session, now))
        return PlatformFacts(status, self._services.gpus.usage.status(session))

    def _some(self, session: Session, facts: HomeFacts, tabs: Sequence[OpenTab]) -> dict[str, str]:
        return {tab.person: _digest(self._page(session, facts, tab)[0]) for tab in tabs}

    def _page(
        self, session: Session, facts: HomeFacts, tab: OpenTab
    ) -> tuple[HomePage, list[Caller]]:
        callers, refusal = self._callers(session, tab.person, tab.channel)
        if refusal is not None:
            return closed_page(refusal), callers
        try:
            return home_page(facts, callers, self._wording), callers
        except Exception:
            reference = secrets.token_hex(3)
            log.exception("a home tab could not be made", person=tab.person, reference=reference)
        return broken_page(self._wording), callers

    def _callers(
        self, session: Session, person: str, channel: str
    ) -> tuple[list[Caller], NotAllowedError | None]:
        try:
            return self._services.access.callers(session, person, channel), None
        except NotAllowedError as error:
            return [], error

    def _view(self, page: HomePage, tab: OpenTab) -> Rendered:
        now, real_now = self._clock.now(), datetime.now(UTC)

        def make(form: FormButton) -> Button | None:
            command = self._registry.slash.of(form.command).removeprefix("/")
            return form_button(form, command, tab.person, real_now)

        return home_view(page, tab.channel, (now, now + WATCHED), make)


class _Recent(Generic[T]):
    """A figure that is read again only after some seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._read_at = 0.0
        self._value: T | None = None

    def get(self, read: Callable[[], T]) -> T:
        """The figure, of this moment or of lately."""
        if self._value is None or time.monotonic() - self._read_at > self._seconds:
            return self.put(read())
        return self._value

    def put(self, value: T) -> T:
        """The figure, as it was just read."""
        self._value, self._read_at = value, time.monotonic()
        return value


def _digest(page: HomePage) -> str:
    return digest_of(page, 16)


def _rights(caller: Caller) -> list[str]:
    return [caller.team or "", *sorted(caller.roles)]
