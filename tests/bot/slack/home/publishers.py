"""A publisher between a database and a strict Slack, with content and time that a test sets."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from sqlmodel import Session, select

from bot.slack.client import SlackClient
from bot.slack.home import tabs
from bot.slack.home.page import HomePage, HomeSection
from bot.slack.home.publisher import HomePublisher, Prepared, WritingRights
from bot.slack.home.tabs import HomeOpened, HomeTab, OpenTab
from bot.slack.home.view import home_view
from bot.slack.markup import plain
from bot.slack.sending.budgets import Budgets
from playground.slack.views import View
from tests.bot.slack.receiving.dispatchers import client_of
from tests.bot.slack.sending.senders import WHEN, Time, TimedClock, TimedDatabase
from tests.databases import create_tables
from tests.playground.slack.served import Served, Stage


@dataclass
class Pages:
    """The content of tabs: a sentence for each person, and a word for their rights."""

    said: dict[str, str] = field(default_factory=dict)
    rights: dict[str, str] = field(default_factory=dict)
    looked: list[int] = field(default_factory=list)
    meanwhile: Callable[[], object] | None = None
    """What happens, once, while a tab is made or rights are read."""

    def digests(self, open_tabs: Sequence[OpenTab]) -> Mapping[str, str]:
        self.looked.append(len(open_tabs))
        return {tab.person: self._said(tab.person) for tab in open_tabs}

    def prepare(self, tab: OpenTab) -> Prepared:
        said = self._said(tab.person)
        page = HomePage((HomeSection("Runs", (plain(said),)),))
        view = home_view(page, tab.channel, (WHEN, WHEN), lambda _form: None)
        self._interrupted()
        return Prepared(said, self.rights.get(tab.person, "member"), view)

    def access(self, who: Sequence[str]) -> Mapping[str, str]:
        self._interrupted()
        return {each: self.rights.get(each, "member") for each in who}

    def _interrupted(self) -> None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()

    def _said(self, person: str) -> str:
        return self.said.get(person, "No runs.")


@dataclass
class HomeRig:
    """Everything between a row and what people see in their tabs."""

    slack: Served
    database: TimedDatabase
    publisher: HomePublisher
    budgets: Budgets
    pages: Pages
    time: Time
    lease: list[float]

    def opens(self, person: str = "U0ALICE", *, is_blank: bool = False) -> None:
        """A person opens their tab, or clicks there."""
        opened = HomeOpened(person, f"D{person[1:]}", is_blank)
        self.database.transaction(
            lambda session: tabs.seen(session, "T0QM", opened, self.database.real_now(session))
        )

    def publishes(self) -> int:
        """Publishes what may be published now; how many tabs."""
        before = self.calls()
        self.publisher.publish_due()
        return self.calls() - before

    def pass_time(self, seconds: float) -> None:
        self.time.moved += timedelta(seconds=seconds)

    def shows(self, person: str = "U0ALICE") -> str:
        """What a person's tab says, without its title and its last line."""
        view = self.slack.call(lambda: self.slack.workspace.views.homes.get(person))
        return _said(view) if view else ""

    def calls(self) -> int:
        """How often tabs were published, answered or not."""
        return sum(r.name == "views.publish" for r in self.slack.workspace.ledger.requests)

    def row(self, person: str = "U0ALICE") -> HomeTab:
        def read(session: Session) -> HomeTab:
            return session.scalars(select(HomeTab).where(HomeTab.person == person)).one()

        return self.database.read(read)

    def another(self, client: SlackClient | None = None) -> HomePublisher:
        """The publisher of another process, or of the next one."""
        rights = WritingRights(Budgets(self.time.monotonic), lambda: self.lease[0])
        at = client or client_of(self.slack)
        return publisher_for(at, self.database, self.pages, self.time, rights)


def _said(view: View) -> str:
    return str(view.body["blocks"][1]["text"]["text"])


def publisher_for(
    client: SlackClient,
    database: TimedDatabase,
    pages: Pages,
    given: Time,
    rights: WritingRights,
) -> HomePublisher:
    return HomePublisher(database, client, pages, "T0QM", rights, monotonic=given.monotonic)


@contextmanager
def home_rig(stage: Stage, url: str) -> Iterator[HomeRig]:
    """A fresh workspace and database, and a publisher between them."""
    given, pages, lease = Time(), Pages(), [30.0]
    with stage.workspace(given.monotonic, TimedClock(given)) as slack:
        create_tables(url)
        database = TimedDatabase(url, given)
        budgets = Budgets(given.monotonic)
        rights = WritingRights(budgets, lambda: lease[0])
        publisher = publisher_for(client_of(slack), database, pages, given, rights)
        try:
            yield HomeRig(slack, database, publisher, budgets, pages, given, lease)
        finally:
            publisher.stop()
            database.close()
