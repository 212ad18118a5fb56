"""What a Home tab shows to whom, and what its buttons do."""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlmodel import Session, select
from structlog.testing import capture_logs

from bot.home.opening import HomeOpening
from bot.people.people import Person
from bot.slack.card import Reply
from bot.slack.home import tabs
from bot.slack.home.tabs import HomeOpened, HomeTab
from bot.slack.text import as_text
from bot.training.tables import Run, RunPhase
from tests.bot.datasets.caches.rows import add_cached
from tests.handlers.command_client import (
    ALICE,
    APPROVALS,
    BOB,
    CAROL,
    DAN,
    DATASETS,
    ERIN,
    FAR,
    FAY,
    MIA,
    TEAM_A,
    CommandClient,
    opened,
)
from tests.handlers.furnished import Furnished
from tests.handlers.gpu_past import sample
from tests.handlers.home_pages import (
    buttons_of,
    page_of,
    section_of,
    tab_of,
    titles_of,
    view_of,
)
from tests.handlers.test_former_members import leaves
from tests.playground.cluster.served import Served

SUBMIT = "/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 -- python train.py"
REQUEST = "/quota request +2 --for 1d --reason deadline"
OVERRIDE = "⏳ Quota override for team-a: +2 h100 · Waiting for approval"
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")


@pytest.fixture
def client(tmp_path: Path, served: Served) -> Iterator[CommandClient]:
    with opened(tmp_path, f"sqlite:///{tmp_path}/test.db", served, DATASETS) as opened_client:
        yield opened_client


def timeless(lines: list[str]) -> list[str]:
    return [TIME.sub("TIME", line) for line in lines]


def run_begins(client: CommandClient, **more: object) -> None:
    """The newest run begins to run, with more of its columns as given."""

    def work(session: Session) -> None:
        run = session.scalars(select(Run)).all()[-1]
        run.phase, run.since = RunPhase.RUNNING, client.application.clock.now()
        run.started_at = run.since
        for name, value in more.items():
            setattr(run, name, value)

    client.application.database.transaction(work)


def run_ends(client: CommandClient) -> None:
    def work(session: Session) -> None:
        run = session.scalars(select(Run)).all()[-1]
        run.phase, run.since = RunPhase.SUCCEEDED, client.application.clock.now()
        run.ended_at = run.since + timedelta(hours=2)

    client.application.database.transaction(work)


def test_a_new_person_sees_first_steps(client: CommandClient) -> None:
    assert page_of(client, ALICE) == [
        "# Quartermaster",
        "Your teams: team-a (member).",
        "[Submit training] [Refresh]",
        "# First steps",
        (
            "1. Start a run: `/train submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 --env"
            " BATCH_SIZE=33 -- python train.py --epochs 3`"
        ),
        "2. See where it is, and why it waits: `/train list`",
        "3. See your team's GPUs: `/quota status`",
        "Type these in your team's channel, or here under Messages without the slash.",
        "`/qm help` lists all commands.",
        "# GPUs of team-a",
        "h100  ▱▱▱▱▱▱▱▱▱▱▱▱ 0 % · 0 of 4 GPUs · 8 free to borrow",
        "[Request GPU quota]",
        "# Notices",
        (
            "When something happens to one of your runs, you are mentioned in the thread of its"
            " card."
        ),
        "`/notices dm --for failed` changes it for one kind.",
        "[By direct message] [Not at all]",
    ]  # fmt: skip


def test_live_runs_have_their_state_and_buttons(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    run_begins(client, progress={"done": 1.0, "total": 3.0, "unit": "epochs"})
    assert timeless(section_of(client, ALICE, "Your runs (1)")) == [
        "▶️ lane · Running since TIME · 2 GPUs",
        "▰▰▰▰▱▱▱▱▱▱▱▱ 33 % · 1 of 3 epochs",
        "[Logs] [Stop]",
    ]


def test_idle_runs_say_so_and_can_be_kept(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    run_begins(client, idle_since=datetime.now(UTC))
    assert timeless(section_of(client, ALICE, "Your runs (1)"))[1:] == [
        "Its GPUs have been idle since TIME.",
        "[Logs] [Stop] [Leave it alone for 4h]",
    ]


def test_ended_runs_can_be_started_again(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    run_begins(client)
    run_ends(client)
    assert section_of(client, ALICE, "Your runs") == ["None of your runs is live."]
    assert timeless(section_of(client, ALICE, "Ended lately")) == [
        "✅ lane · Succeeded in 2h, TIME",
        "[Resubmit] [Logs]",
    ]


def test_runs_are_those_of_the_person_alone(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    run_begins(client)
    assert "First steps" in titles_of(client, MIA)
    assert "lane ·" not in "\n".join(page_of(client, MIA))


def test_leads_see_their_teams_runs_and_requests(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    client.says(ALICE, TEAM_A, REQUEST)
    run_begins(client)
    team = section_of(client, ERIN, "GPUs of team-a")
    assert "The team has 1 live run of 1 person." in team
    asked = section_of(client, ERIN, "Requests of team-a")
    assert asked[0] == OVERRIDE
    assert not any(line.startswith("[") for line in asked)
    assert "Requests of team-a" not in titles_of(client, ALICE)
    assert not any("live run" in line for line in page_of(client, ALICE))


def test_a_lead_who_decides_sees_a_request_once(client: CommandClient) -> None:
    client.says(CAROL, APPROVALS, "/quota set +4 --team team-a")
    titles = titles_of(client, ERIN)
    assert "Waiting for your decision (1)" in titles
    assert "Requests of team-a" not in titles


def test_approvers_decide_on_their_tab(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, REQUEST)
    asked = section_of(client, CAROL, "Waiting for your decision (1)")
    assert asked[0] == OVERRIDE
    assert "Reason: deadline" in asked
    assert asked[-1] == "[Approve] [Deny]"
    for person in (ALICE, ERIN, MIA):
        assert "Waiting for your decision (1)" not in titles_of(client, person)
    (approve, _) = [b for b in buttons_of(client, CAROL) if b["action_id"].startswith("approval.")]
    said = client.clicks(CAROL, "D0CAROL", approve["action_id"], approve["value"])
    assert said == "You approved this request."
    assert "Waiting for your decision (1)" not in titles_of(client, CAROL)


def test_admins_see_the_state_of_the_platform(client: CommandClient) -> None:
    bot, *others = section_of(client, CAROL, "Platform")
    assert re.fullmatch(r"Quartermaster \S+: working", bot)
    more = "`/gpu status` and `/qm status` show more."
    assert others == [
        "default: its GPUs have not been sampled yet.", "No team has live runs.", more,
    ]  # fmt: skip
    sample(client)
    client.says(ALICE, TEAM_A, SUBMIT)
    assert section_of(client, CAROL, "Platform")[1:] == [
        "default  ▱▱▱▱▱▱▱▱▱▱▱▱ 0 % · 0 of 16 GPUs allocated",
        "1 live run in 1 team, 1 of them waiting.",
        more,
    ]
    for person in (ALICE, ERIN, BOB):
        assert "Platform" not in titles_of(client, person)


def test_caches_about_to_go_can_be_kept(client: CommandClient) -> None:
    def work(session: Session) -> None:
        cache = add_cached(session)
        cache.leaves_at = datetime.now(UTC) + timedelta(hours=5)
        cache.evict_why = "It was not used for 3d."

    client.application.database.transaction(work)
    title = "Caches of team-a to be evicted soon"
    assert timeless(section_of(client, ALICE, title)) == [
        "chest-xray@v3 on standard, TIME. It was not used for 3d.",
        "[Extend 1d] [Pin for 7d]",
    ]
    assert title not in titles_of(client, BOB)


@pytest.mark.parametrize("person", [DAN, FAR])
def test_guests_and_outsiders_see_one_sentence(client: CommandClient, person: str) -> None:
    assert page_of(client, person) == [
        "# No access",
        "Guests and people from other workspaces cannot use Quartermaster.",
        "Ask a full member of the team to do this for you.",
    ]


def test_unknown_people_are_looked_up_first(client: CommandClient) -> None:
    assert page_of(client, "U0NEW") == [
        "# One moment",
        "Checking who you are.",
        "This page follows in a few seconds.",
    ]


def test_people_of_no_team_learn_whom_to_ask(client: CommandClient) -> None:
    assert page_of(client, FAY) == [
        "# Quartermaster",
        "You belong to no team, so there is nothing of yours to show here.",
        "Ask a platform admin to add you to one.",
        "[Refresh]",
    ]


def test_former_members_see_nothing_of_the_team(client: CommandClient, tmp_path: Path) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    run_begins(client)
    home = client.application.home()
    before = home.access([ALICE])
    leaves(client, tmp_path)
    assert page_of(client, ALICE)[:2] == page_of(client, FAY)[:2]
    assert "lane" not in "\n".join(page_of(client, ALICE))
    assert home.access([ALICE]) != before


def test_people_of_two_teams_see_both(client: CommandClient, tmp_path: Path) -> None:
    in_both(client, tmp_path)
    client.says(ALICE, TEAM_A, SUBMIT)
    run_begins(client)
    page = page_of(client, ALICE)
    assert page[1:3] == [
        "Your teams: team-a (member), team-b (lead).",
        "[Submit training for team-a] [Submit training for team-b] [Refresh]",
    ]
    assert section_of(client, ALICE, "Your runs (1)")[0].endswith("· 2 GPUs · team-a")
    assert {"GPUs of team-a", "GPUs of team-b"} <= set(titles_of(client, ALICE))


def in_both(client: CommandClient, folder: Path) -> None:
    """Alice leads team-b, too."""
    path = folder / "quartermaster.yaml"
    text = path.read_text()
    assert "leads: {people: [U0BOB]}" in text
    path.write_text(text.replace("leads: {people: [U0BOB]}", "leads: {people: [U0BOB, U0ALICE]}"))
    client.application.settings.refresh()


@pytest.mark.parametrize("label", ["Submit training for team-b", "Request GPU quota"])
def test_forms_are_opened_for_the_named_team(
    client: CommandClient, tmp_path: Path, label: str
) -> None:
    in_both(client, tmp_path)
    button = [each for each in buttons_of(client, ALICE) if each["text"]["text"] == label][-1]
    how = {"kind": "button", "command": button["action_id"], "value": button["value"]}
    reply = client.application.dispatcher.answer(client.incoming(ALICE, "D0ALICE", **how))
    assert reply is not None
    assert reply.form is not None, as_text(reply)
    assert reply.form.place.channel == "D0ALICE"
    typed = {each.name: each.initial for each in reply.form.fields}
    assert "team-b" in " ".join(typed.values())
    other = client.incoming(MIA, "D0MIA", **how)
    refused = client.application.dispatcher.answer(other)
    assert refused is not None
    assert refused.form is None


def test_notices_are_chosen_by_a_click(client: CommandClient) -> None:
    (button,) = [b for b in buttons_of(client, ALICE) if b["text"]["text"] == "Not at all"]
    said = client.clicks(ALICE, "D0ALICE", button["action_id"].partition(":")[0], button["value"])
    assert said.startswith("How you are notified")
    section = section_of(client, ALICE, "Notices")
    assert section[0] == "When something happens to one of your runs, you are not notified."
    assert section[-1] == "[In threads] [By direct message]"
    client.says(ALICE, TEAM_A, "/notices dm --for failed,idle")
    assert section_of(client, ALICE, "Notices")[:2] == [
        "idle, failed: you get a direct message.",
        "started, time, preempted, ended: you are not notified.",
    ]
    assert client.clicks(ALICE, "D0ALICE", "notices.choose", "loudly").startswith(
        "This button is out of date."
    )


def test_nothing_changes_as_time_passes(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    client.says(ALICE, TEAM_A, REQUEST)
    run_begins(client)
    home, tabs = client.application.home(), [tab_of(each) for each in (ALICE, ERIN, DAN)]
    before = home.digests(tabs)
    client.application.clock.shift(timedelta(minutes=40))
    assert home.digests(tabs) == before
    assert {tab.person: home.prepare(tab).digest for tab in tabs} == before
    run_ends(client)
    after = home.digests(tabs)
    assert {who for who in before if after[who] != before[who]} == {ALICE, ERIN}


def test_opening_and_clicking_have_it_published(client: CommandClient) -> None:
    bot = client.application
    opening = HomeOpening(bot.dispatcher, bot.database, bot.clock, "T0QM")

    def row(person: str) -> HomeTab:
        return bot.database.read(lambda s: s.get_one(HomeTab, ("T0QM", person)))

    opening.home_opened(HomeOpened(ALICE, "D0ALICE", is_blank=True))
    assert (row(ALICE).channel, row(ALICE).wants, row(ALICE).shown) == ("D0ALICE", 1, 0)
    shown = {"digest": "same", "shown": 1}
    bot.database.transaction(lambda s: tabs.change(s, "T0QM", ALICE, shown))
    opening.home_opened(HomeOpened(ALICE, "D0ALICE", is_blank=False))
    assert (row(ALICE).wants, row(ALICE).digest) == (2, "same")
    click = client.incoming(ALICE, "D0ALICE", kind="button", command="qm.refresh")
    assert opening.answer(click) == Reply()
    assert row(ALICE).wants == 2
    assert opening.answer(replace(click, in_home=True, delivery="another")) == Reply()
    assert (row(ALICE).wants, row(ALICE).digest) == (3, "")


def test_who_is_unknown_is_looked_up(client: CommandClient) -> None:
    bot = client.application
    opening = HomeOpening(bot.dispatcher, bot.database, bot.clock, "T0QM")
    opening.home_opened(HomeOpened("U0NEW", "D0NEW", is_blank=True))
    new = bot.database.read(lambda s: s.get_one(Person, ("T0QM", "U0NEW")))
    assert new.refreshed_at is None


@pytest.mark.timeout(300)
def test_every_button_does_what_it_says(everything: Furnished) -> None:
    """On the tabs of people of all roles, with something of every kind to show."""
    client = everything.client
    for person in (ALICE, ERIN, CAROL):
        everything.put_back()
        shown = buttons_of(client, person)
        assert len({each["action_id"].partition(":")[0] for each in shown}) >= 3
        for button in shown:
            everything.put_back()
            with capture_logs() as logs:
                client.clicks(
                    person, f"D{person[1:]}", button["action_id"], button.get("value", "")
                )
            assert [each for each in logs if each["event"] != "failed"] == [], button


def test_a_page_that_breaks_says_so(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    run_begins(client, phase="unheard-of")
    with capture_logs() as logs:
        assert page_of(client, ALICE)[:2] == [
            "# Quartermaster",
            "Something went wrong on our side.",
        ]
    assert [each["event"] for each in logs] == ["a home tab could not be made"]
    assert page_of(client, MIA)[0:2] == ["# Quartermaster", "Your teams: team-a (member)."]
    assert view_of(client, MIA)["private_metadata"] == "D0MIA"
