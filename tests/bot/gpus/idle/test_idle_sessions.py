"""Sessions that leave their GPUs idle are stopped after a notice, and others never."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.config import ClusterSettings
from bot.errors import NotAllowedError
from bot.gpus.minutes import minute_of, moment_of
from bot.training.idle.service import MOST_AT_ONCE, GpuActivity
from bot.training.tables import RunPhase
from tests.bot.gpus.rig import ACTIVE, Sampled, idle, offered, requested
from tests.bot.ground import ALICE, BOB, ERIN, NOON, START
from tests.bot.training.sessions.notebooks import NOTEBOOK
from tests.prometheus import Scraped

BEGUN = START + timedelta(minutes=5)
# The minute in which the first of their figures was scraped.
SINCE = moment_of(minute_of(BEGUN))
NOTICE = (
    f"<@{ALICE}> nb: its GPUs have been idle since"
    " <!date^1795262700^{date_short_pretty} {time}|2026-11-21 12:05 UTC>."
    " It is stopped <!date^1795277566^{date_short_pretty} {time}|"
    "2026-11-21 16:12 UTC> to free them for others, unless they are used before then."
    " Its pod and its data outside PVCs are then deleted."
)


def at(hours: float) -> datetime:
    """So many hours after the first samples; a minute later, when they have settled."""
    return BEGUN + timedelta(hours=hours, minutes=1)


def begin(sampled: Sampled) -> str:
    """Alice's notebook on two GPUs, which runs."""
    run_id = sampled.submit("nb", image=NOTEBOOK, command=(), kind="interactive")
    sampled.pass_time(seconds=30)
    assert sampled.get(run_id).phase == RunPhase.RUNNING
    sampled.look_at(sampled.clock.now())
    return run_id


def scrape(sampled: Sampled, run_id: str, hours: float = 7, gpus: int = 2) -> Scraped:
    """GPUs of the run that do nothing for so long."""
    scraped = hold(sampled.pod_of(run_id))
    idle(scraped, sampled.pod_of(run_id), BEGUN, hours, gpus)
    return scraped


def hold(pod: str) -> Scraped:
    """Its two GPUs are held all day."""
    scraped, times = Scraped(), (START, START + timedelta(hours=9))
    requested(scraped, pod, times)
    offered(scraped, times)
    return scraped


def keep(sampled: Sampled, run_id: str, person: str) -> datetime:
    by = sampled.caller(person)
    return sampled.do(
        lambda session: sampled.idling.keep(
            session, by, sampled.service.get(session, run_id), sampled.clock.now()
        )
    )


def told(sampled: Sampled, run_id: str) -> list[str]:
    """What was said of its idleness, and how it ended."""
    return [purpose for purpose in sampled.notes(run_id) if purpose != "admitted-1"]


def state(sampled: Sampled, run_id: str) -> tuple[str, list[str]]:
    """How far it is, and what was said of its idleness."""
    return sampled.get(run_id).phase, told(sampled, run_id)


def test_an_idle_session_is_told_then_stopped(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    with sampled.measured(tmp_path, scrape(sampled, run_id)):
        sampled.look_at(at(3.4))
        assert told(sampled, run_id) == []
        sampled.look_at(at(3.6))
        assert sampled.notes(run_id)["idle-202611211612"] == NOTICE
        assert "  GPUs idle  since 2026-11-21 12:05 UTC" in sampled.card(run_id).splitlines()
        sampled.look_at(at(3.9))
        assert sampled.get(run_id).phase == RunPhase.RUNNING
        sampled.look_at(at(4.2))
        sampled.pass_time(minutes=2)
    assert sampled.get(run_id).phase == RunPhase.STOPPED
    assert sampled.notes(run_id)["ended"].splitlines()[0] == (
        f"<@{ALICE}> nb was stopped by Quartermaster after 4h 17m. Its GPUs were idle for 4h 12m."
    )


def test_idle_since_its_first_minute_is_stopped(sampled: Sampled, tmp_path: Path) -> None:
    run_id = sampled.submit("nb", image=NOTEBOOK, command=(), kind="interactive")
    sampled.pass_time(seconds=10)
    began = sampled.get(run_id).since
    sampled.look_at(sampled.clock.now())
    assert minute_of(sampled.clock.now()) == minute_of(began)
    pod = sampled.pod_of(run_id)
    scraped = hold(pod)
    idle(scraped, pod, START, hours=7)
    with sampled.measured(tmp_path, scraped):
        sampled.look_at(at(3.6))
        assert sampled.get(run_id).idle_since == began
        assert state(sampled, run_id) == (RunPhase.RUNNING, ["idle-202611211612"])
        sampled.look_at(at(4.2))
        sampled.pass_time(minutes=2)
    assert sampled.get(run_id).phase == RunPhase.STOPPED


@pytest.mark.parametrize("known", [-1, 0, 1])
def test_before_it_ran_anew_nothing_counts(sampled: Sampled, known: int) -> None:
    run_id = begin(sampled)
    began, now = sampled.get(run_id).since, sampled.clock.now()
    # It idled before it was pushed out, and so much is known of how it runs now.
    sight = GpuActivity(began + timedelta(minutes=known), began - timedelta(hours=5))
    sampled.do(lambda session: sampled.idling.seen(session, run_id, sight, now))
    assert sampled.get(run_id).idle_since == (began if known > 0 else None)
    assert told(sampled, run_id) == []


def test_a_bot_that_was_away_tells_first(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    with sampled.measured(tmp_path, scrape(sampled, run_id)):
        sampled.look_at(at(6))
        sampled.look_at(at(6.4))
        assert state(sampled, run_id) == (
            RunPhase.RUNNING,
            ["idle-202611211836"],
        )
        sampled.look_at(at(6.6))
        sampled.pass_time(minutes=2)
    assert sampled.get(run_id).phase == RunPhase.STOPPED


def test_a_notice_counts_from_when_it_stood(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    with sampled.measured(tmp_path, scrape(sampled, run_id)):
        sampled.look_at(at(3.6))
        sampled.look_at(at(4.2), is_slack_down=True)
        sampled.look_at(at(4.4), is_slack_down=True)
        sampled.look_at(at(4.9))
        assert state(sampled, run_id) == (
            RunPhase.RUNNING,
            ["idle-202611211612"],
        )
        sampled.look_at(at(5.05))
        sampled.pass_time(minutes=2)
    assert sampled.get(run_id).phase == RunPhase.STOPPED


def test_a_kept_session_is_let_be(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    with sampled.measured(tmp_path, scrape(sampled, run_id)):
        sampled.look_at(at(3.6))
        assert keep(sampled, run_id, ALICE) == at(7.6)
        sampled.look_at(at(5))
        sampled.look_at(at(6.9))
        assert state(sampled, run_id) == (
            RunPhase.RUNNING,
            ["idle-202611211612"],
        )


def test_only_its_owner_and_leads_keep_it(sampled: Sampled) -> None:
    run_id = begin(sampled)
    assert keep(sampled, run_id, ERIN) == sampled.clock.now() + timedelta(hours=4)
    with pytest.raises(NotAllowedError) as refused:
        keep(sampled, run_id, BOB)
    assert str(refused.value) == f"nb is a session of <@{ALICE}>."


@pytest.mark.parametrize(
    ("hours", "busy", "since"),
    [(0.1, 0.6, timedelta(minutes=15)), (3.4, 0.02, timedelta(hours=3, minutes=33))],
    ids=["at its begin", "a little, lately"],
)
def test_work_on_one_gpu_counts(
    sampled: Sampled, tmp_path: Path, hours: float, busy: float, since: timedelta
) -> None:
    run_id = begin(sampled)
    pod = sampled.pod_of(run_id)
    scraped = hold(pod)
    idle(scraped, pod, BEGUN, hours=5, gpus=1)
    labels = {"namespace": "team-a", "pod": pod, "gpu": "1"}
    moment = BEGUN + timedelta(hours=hours)
    scraped.add(ACTIVE, labels, (BEGUN, moment), 0)
    scraped.add(ACTIVE, labels, (moment, moment + timedelta(minutes=3)), busy)
    scraped.add(ACTIVE, labels, (moment + timedelta(minutes=3), at(5)), 0)
    with sampled.measured(tmp_path, scraped):
        sampled.look_at(at(3.6))
        assert (sampled.get(run_id).idle_since, told(sampled, run_id)) == (NOON + since, [])


def test_what_nobody_measured_is_not_idle(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    scraped = scrape(sampled, run_id, hours=2)
    idle(scraped, sampled.pod_of(run_id), BEGUN + timedelta(hours=2.5), hours=2)
    with sampled.measured(tmp_path, scraped):
        sampled.look_at(at(4.2))
        assert sampled.get(run_id).idle_since == SINCE + timedelta(hours=2.5)
        sampled.look_at(at(5))
        assert sampled.get(run_id).idle_since is None
    assert told(sampled, run_id) == []


def test_a_gpu_that_nobody_sees_may_work(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    with sampled.measured(tmp_path, scrape(sampled, run_id, gpus=1)):
        sampled.look_at(at(4.1))
    assert (sampled.get(run_id).idle_since, told(sampled, run_id)) == (None, [])


def test_a_prometheus_that_is_away_stops_nobody(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    with sampled.measured(tmp_path, scrape(sampled, run_id)):
        sampled.look_at(at(3.6))
    sampled.look_at(at(5))
    assert "GPUs idle" not in sampled.card(run_id)
    assert state(sampled, run_id) == (
        RunPhase.RUNNING,
        ["idle-202611211612"],
    )


def test_a_prometheus_set_no_more_shows_nothing(sampled: Sampled, tmp_path: Path) -> None:
    run_id = begin(sampled)
    with sampled.measured(tmp_path, scrape(sampled, run_id)):
        sampled.look_at(at(1))
        assert "GPUs idle" in sampled.card(run_id)
    sampled.policy = sampled.policy.model_copy(update={"clusters": {"default": ClusterSettings()}})
    sampled.look_at(at(1.1))
    assert "GPUs idle" not in sampled.card(run_id)


def limit(sampled: Sampled, idle: timedelta | None) -> None:
    """Has sessions of team-a be idle for so long."""
    team = sampled.policy.teams["team-a"]
    limits = team.limits.model_copy(update={"interactive_idle": idle})
    teams = {**sampled.policy.teams, "team-a": team.model_copy(update={"limits": limits})}
    sampled.policy = sampled.policy.model_copy(update={"teams": teams})


def test_who_worked_after_a_notice_gets_another(sampled: Sampled, tmp_path: Path) -> None:
    limit(sampled, timedelta(minutes=10))
    run_id = begin(sampled)
    scraped = scrape(sampled, run_id, hours=0.35)
    pod, again = sampled.pod_of(run_id), BEGUN + timedelta(hours=0.4)
    for gpu in ("0", "1"):
        labels = {"namespace": "team-a", "pod": pod, "gpu": gpu}
        scraped.add(ACTIVE, labels, (BEGUN + timedelta(hours=0.35), again), 1)
    idle(scraped, pod, again, hours=1)
    with sampled.measured(tmp_path, scraped):
        sampled.look_at(at(0.3))
        sampled.look_at(at(0.85))
        assert state(sampled, run_id) == (
            RunPhase.RUNNING,
            ["idle-202611211254", "idle-202611211327"],
        )
        sampled.look_at(at(1.4))
        sampled.pass_time(minutes=2)
    assert sampled.get(run_id).phase == RunPhase.STOPPED


def test_null_turns_it_off(sampled: Sampled, tmp_path: Path) -> None:
    limit(sampled, None)
    run_id = begin(sampled)
    with sampled.measured(tmp_path, scrape(sampled, run_id)):
        sampled.look_at(at(5))
    assert (told(sampled, run_id), sampled.get(run_id).idle_since) == ([], SINCE)


def test_an_ended_run_says_how_busy_it_was(sampled: Sampled, tmp_path: Path) -> None:
    run_id = sampled.submit("lane")
    sampled.pass_time(seconds=60)
    scraped, pod = Scraped(), sampled.pod_of(run_id)
    for gpu, busy in (("0", 1.0), ("1", 0.5)):
        labels = {"exported_namespace": "team-a", "exported_pod": pod, "gpu": gpu}
        scraped.add(ACTIVE, labels, (START, START + timedelta(hours=2)), busy)
    with sampled.measured(tmp_path, scraped):
        sampled.sample(30)
        sampled.look_at(sampled.clock.now())
    assert sampled.get(run_id).gpus_busy == pytest.approx(0.75)


def test_many_ended_runs_are_measured_in_turn(sampled: Sampled, tmp_path: Path) -> None:
    runs = [sampled.submit(f"lane-{number}", gpus=0) for number in range(MOST_AT_ONCE + 1)]
    scraped = Scraped()
    scraped.add(ACTIVE, {"namespace": "team-a", "pod": "other"}, (BEGUN, at(1)), 1)
    with sampled.measured(tmp_path, scraped):
        sampled.look_at(sampled.clock.now())
        sampled.pass_time(minutes=30)
        sampled.look_at(START + timedelta(minutes=35))
        measured = [sampled.get(run_id).measured_at is not None for run_id in runs]
        assert measured == [True] * MOST_AT_ONCE + [False]
        sampled.pass_time(seconds=5)
    assert all(sampled.get(run_id).measured_at for run_id in runs)
