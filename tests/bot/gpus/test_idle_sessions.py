"""Sessions that leave their GPUs idle are stopped after a notice, and others never."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.config import ClusterSettings
from bot.errors import NotAllowedError
from bot.gpus.prometheus import STEP
from bot.training.idling import MOST_AT_ONCE
from bot.training.tables import Phase
from tests.bot.gpus.rig import ACTIVE, Watched, idle
from tests.bot.ground import ALICE, BOB, ERIN, START
from tests.bot.training.notebooks import NOTEBOOK
from tests.prometheus import Scraped

BEGUN = START + timedelta(minutes=5)
NOTICE = (
    f"<@{ALICE}> the GPUs of nb do nothing since <!date^1795263000^{{date_short_pretty}} {{time}}|"
    "2026-11-21 12:10 UTC>. It is stopped <!date^1795277520^{date_short_pretty} {time}|"
    "2026-11-21 16:12 UTC> unless they work again before, so that others can have them."
    " Then its pod is gone, and what it kept outside of PVCs."
)


def at(hours: float) -> datetime:
    """So many hours after the first samples; a minute later, when they have settled."""
    return BEGUN + timedelta(hours=hours, minutes=1)


def begin(rig: Watched) -> str:
    """Alice's notebook on two GPUs, which runs."""
    run_id = rig.submit("nb", image=NOTEBOOK, command=(), kind="interactive")
    rig.pass_time(seconds=30)
    assert rig.get(run_id).phase == Phase.RUNNING
    return run_id


def scrape(rig: Watched, run_id: str, hours: float = 7, gpus: int = 2) -> Scraped:
    """GPUs of the run that do nothing for so long."""
    scraped = Scraped()
    idle(scraped, rig.pod_of(run_id), BEGUN, hours, gpus)
    return scraped


def keep(rig: Watched, run_id: str, person: str) -> datetime:
    by = rig.caller(person)
    return rig.do(
        lambda session: rig.idling.keep(
            session, by, rig.service.get(session, run_id), rig.clock.now()
        )
    )


def told(rig: Watched, run_id: str) -> list[str]:
    """What was said of its idleness, and how it ended."""
    return [purpose for purpose in rig.notes(run_id) if purpose != "admitted-1"]


def test_an_idle_session_is_told_then_stopped(rig: Watched, tmp_path: Path) -> None:
    run_id = begin(rig)
    with rig.measured(tmp_path, scrape(rig, run_id)):
        rig.look_at(at(3.4))
        assert told(rig, run_id) == []
        rig.look_at(at(3.6))
        assert rig.notes(run_id)["idle-202611211612"] == NOTICE
        assert "  GPUs idle  since 2026-11-21 12:10 UTC" in rig.card(run_id).splitlines()
        rig.look_at(at(3.9))
        assert rig.get(run_id).phase == Phase.RUNNING
        rig.look_at(at(4.2))
        rig.pass_time(minutes=2)
    assert rig.get(run_id).phase == Phase.STOPPED
    assert rig.notes(run_id)["ended"].splitlines()[0] == (
        f"<@{ALICE}> nb was stopped by Quartermaster after 4h 17m. Its GPUs did nothing for 4h 8m."
    )


def test_a_bot_that_was_away_tells_first(rig: Watched, tmp_path: Path) -> None:
    run_id = begin(rig)
    with rig.measured(tmp_path, scrape(rig, run_id)):
        rig.look_at(at(6))
        rig.look_at(at(6.4))
        assert (rig.get(run_id).phase, told(rig, run_id)) == (Phase.RUNNING, ["idle-202611211836"])
        rig.look_at(at(6.6))
        rig.pass_time(minutes=2)
    assert rig.get(run_id).phase == Phase.STOPPED


def test_a_notice_counts_from_when_it_stood(rig: Watched, tmp_path: Path) -> None:
    run_id = begin(rig)
    with rig.measured(tmp_path, scrape(rig, run_id)):
        rig.look_at(at(3.6))
        rig.look_at(at(4.2), is_slack_down=True)
        rig.look_at(at(4.4), is_slack_down=True)
        rig.look_at(at(4.9))
        assert (rig.get(run_id).phase, told(rig, run_id)) == (Phase.RUNNING, ["idle-202611211612"])
        rig.look_at(at(5))
        rig.pass_time(minutes=2)
    assert rig.get(run_id).phase == Phase.STOPPED


def test_a_kept_session_is_let_be(rig: Watched, tmp_path: Path) -> None:
    run_id = begin(rig)
    with rig.measured(tmp_path, scrape(rig, run_id)):
        rig.look_at(at(3.6))
        assert keep(rig, run_id, ALICE) == at(7.6)
        rig.look_at(at(5))
        rig.look_at(at(6.9))
        assert (rig.get(run_id).phase, told(rig, run_id)) == (Phase.RUNNING, ["idle-202611211612"])


def test_only_its_owner_and_leads_keep_it(rig: Watched) -> None:
    run_id = begin(rig)
    assert keep(rig, run_id, ERIN) == rig.clock.now() + timedelta(hours=4)
    with pytest.raises(NotAllowedError) as refused:
        keep(rig, run_id, BOB)
    assert str(refused.value) == f"nb is a session of <@{ALICE}>."


@pytest.mark.parametrize(
    ("hours", "busy", "since"),
    [(0.1, 0.6, timedelta(minutes=20)), (3.4, 0.02, timedelta(hours=3, minutes=40))],
    ids=["at its begin", "a little, lately"],
)
def test_work_on_one_gpu_counts(
    rig: Watched, tmp_path: Path, hours: float, busy: float, since: timedelta
) -> None:
    run_id = begin(rig)
    scraped = Scraped()
    pod = rig.pod_of(run_id)
    idle(scraped, pod, BEGUN, hours=5, gpus=1)
    labels = {"namespace": "team-a", "pod": pod, "gpu": "1"}
    moment = BEGUN + timedelta(hours=hours)
    scraped.add(ACTIVE, labels, (BEGUN, moment), 0)
    scraped.add(ACTIVE, labels, (moment, moment + timedelta(minutes=3)), busy)
    scraped.add(ACTIVE, labels, (moment + timedelta(minutes=3), at(5)), 0)
    with rig.measured(tmp_path, scraped):
        rig.look_at(at(3.6))
        assert (rig.get(run_id).idle_since, told(rig, run_id)) == (START + since, [])


def test_what_nobody_measured_is_not_idle(rig: Watched, tmp_path: Path) -> None:
    run_id = begin(rig)
    scraped = scrape(rig, run_id, hours=2)
    idle(scraped, rig.pod_of(run_id), BEGUN + timedelta(hours=2.5), hours=2)
    with rig.measured(tmp_path, scraped):
        rig.look_at(at(4.2))
        assert rig.get(run_id).idle_since == BEGUN + timedelta(hours=2.5)
        rig.look_at(at(5))
        assert rig.get(run_id).idle_since is None
    assert told(rig, run_id) == []


def test_a_gpu_that_nobody_sees_may_work(rig: Watched, tmp_path: Path) -> None:
    run_id = begin(rig)
    with rig.measured(tmp_path, scrape(rig, run_id, gpus=1)):
        rig.look_at(at(4.1))
    assert (rig.get(run_id).idle_since, told(rig, run_id)) == (None, [])


def test_a_prometheus_that_is_away_stops_nobody(rig: Watched, tmp_path: Path) -> None:
    run_id = begin(rig)
    with rig.measured(tmp_path, scrape(rig, run_id)):
        rig.look_at(at(3.6))
    rig.look_at(at(5))
    assert "GPUs idle" not in rig.card(run_id)
    assert (rig.get(run_id).phase, told(rig, run_id)) == (Phase.RUNNING, ["idle-202611211612"])


def test_a_prometheus_set_no_more_shows_nothing(rig: Watched, tmp_path: Path) -> None:
    run_id = begin(rig)
    with rig.measured(tmp_path, scrape(rig, run_id)):
        rig.look_at(at(1))
        assert "GPUs idle" in rig.card(run_id)
    rig.policy = rig.policy.model_copy(update={"clusters": {"default": ClusterSettings()}})
    rig.look_at(at(1.1))
    assert "GPUs idle" not in rig.card(run_id)


def limit(rig: Watched, idle: timedelta | None) -> None:
    """Has sessions of team-a be idle for so long."""
    team = rig.policy.teams["team-a"]
    limits = team.limits.model_copy(update={"interactive_idle": idle})
    teams = {**rig.policy.teams, "team-a": team.model_copy(update={"limits": limits})}
    rig.policy = rig.policy.model_copy(update={"teams": teams})


def test_who_worked_after_a_notice_gets_another(rig: Watched, tmp_path: Path) -> None:
    limit(rig, timedelta(minutes=10))
    run_id = begin(rig)
    scraped = scrape(rig, run_id, hours=0.35)
    pod, again = rig.pod_of(run_id), BEGUN + timedelta(hours=0.4)
    for gpu in ("0", "1"):
        labels = {"namespace": "team-a", "pod": pod, "gpu": gpu}
        scraped.add(ACTIVE, labels, (BEGUN + timedelta(hours=0.35), again), 1)
    idle(scraped, pod, again, hours=1)
    with rig.measured(tmp_path, scraped):
        rig.look_at(at(0.3))
        rig.look_at(at(0.85))
        assert (rig.get(run_id).phase, told(rig, run_id)) == (
            Phase.RUNNING,
            ["idle-202611211254", "idle-202611211327"],
        )
        rig.look_at(at(1.4))
        rig.pass_time(minutes=2)
    assert rig.get(run_id).phase == Phase.STOPPED


def test_null_turns_it_off(rig: Watched, tmp_path: Path) -> None:
    limit(rig, None)
    run_id = begin(rig)
    with rig.measured(tmp_path, scrape(rig, run_id)):
        rig.look_at(at(5))
    assert (told(rig, run_id), rig.get(run_id).idle_since) == ([], BEGUN + STEP)


def test_an_ended_run_says_how_busy_it_was(rig: Watched, tmp_path: Path) -> None:
    run_id = rig.submit("lane")
    rig.pass_time(seconds=30)
    pod, begun = rig.pod_of(run_id), rig.get(run_id).started_at or START
    rig.pass_time(minutes=30)
    run = rig.get(run_id)
    assert run.phase == Phase.SUCCEEDED
    ended = run.ended_at or START
    scraped = Scraped()
    for gpu, busy in (("0", 1.0), ("1", 0.5)):
        labels = {"exported_namespace": "team-a", "exported_pod": pod, "gpu": gpu}
        scraped.add(ACTIVE, labels, (begun, ended), busy)
    with rig.measured(tmp_path, scraped):
        rig.look_at(ended + timedelta(minutes=5))
    assert rig.get(run_id).gpus_busy == pytest.approx(0.75)


def test_many_ended_runs_are_measured_in_turn(rig: Watched, tmp_path: Path) -> None:
    runs = [rig.submit(f"lane-{number}", gpus=0) for number in range(MOST_AT_ONCE + 1)]
    rig.pass_time(minutes=30)
    scraped = Scraped()
    scraped.add(ACTIVE, {"namespace": "team-a", "pod": "other"}, (BEGUN, at(1)), 1)
    with rig.measured(tmp_path, scraped):
        rig.look_at(START + timedelta(minutes=35))
        measured = [rig.get(run_id).measured_at is not None for run_id in runs]
        assert measured == [True] * MOST_AT_ONCE + [False]
        rig.pass_time(seconds=5)
    assert all(rig.get(run_id).measured_at for run_id in runs)


def test_a_run_too_big_to_measure_hides_nobody(rig: Watched, tmp_path: Path) -> None:
    ended = rig.submit("lane")
    rig.pass_time(seconds=30)
    pod = rig.pod_of(ended)
    run_id = begin(rig)
    rig.pass_time(minutes=30)
    assert rig.get(ended).phase == Phase.SUCCEEDED
    scraped = scrape(rig, run_id)
    idle(scraped, pod, START, hours=1, gpus=64)
    with rig.measured(tmp_path, scraped, "--query.max-samples=150"):
        rig.look_at(at(0.6))
    run = rig.get(ended)
    assert (rig.get(run_id).idle_since, run.gpus_busy) == (BEGUN + STEP, None)
    assert run.measured_at == at(0.6)
