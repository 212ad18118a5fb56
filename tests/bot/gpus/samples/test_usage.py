"""What is read from samples, against what is counted from the same samples one by one."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete
from sqlmodel import Session, SQLModel

from bot.database.database import Database
from bot.gpus.amounts import Amounts
from bot.gpus.minutes import PER_HOUR, minute_of, moment_of
from bot.gpus.samples import rollup
from bot.gpus.samples.packing import add_up, pack, unpack
from bot.gpus.samples.usage import Window, held_by_hour, latest, timeline, use
from bot.gpus.tables import GpuPod, Hour, Sample, Sampling, Series, What

BEGIN = datetime(2026, 11, 20, 22, 0, tzinfo=UTC)
FIRST = minute_of(BEGIN)
TEAMS = ("team-a", "team-b", "")
LENGTH = 4 * PER_HOUR
SAMPLED = len(TEAMS) + 1
TABLES: tuple[type[SQLModel], ...] = (Hour, Sample, Sampling, GpuPod, Series)

Minutes = Mapping[int, Mapping[int, Amounts]]

whole = st.integers(min_value=0, max_value=8)


@st.composite
def amounts(draw: st.DrawFn) -> Amounts:
    allocated = 1000 * draw(whole)
    measured = min(1000 * draw(whole), allocated)
    busy = draw(st.integers(0, measured))
    idle = draw(st.integers(0, measured - busy))
    used = draw(st.integers(0, 80_000))
    return Amounts(allocated, measured, busy, idle, used, 80_000)


samples = st.dictionaries(
    st.integers(0, LENGTH - 1),
    st.dictionaries(st.integers(1, len(TEAMS)), amounts(), min_size=1),
    max_size=40,
)
places = st.integers(0, LENGTH)


def clear(session: Session) -> None:
    for table in TABLES:
        session.connection().execute(delete(table))
    for number, team in enumerate(TEAMS, start=1):
        what = What.RUN if team else What.OTHER
        session.add(Series(id=number, what=what, cluster="default", key=str(number), team=team))
    session.add(Series(id=SAMPLED, what=What.SAMPLED, cluster="default", key="sampled"))
    session.flush()


def write(session: Session, minutes: Minutes, rolled: int) -> None:
    """Everything that was sampled; the hours before `rolled` are summed up."""
    clear(session)
    state = rollup.begin(session, "default", FIRST)
    for place, entries in minutes.items():
        one = {SAMPLED: Amounts(1000)}
        rollup.keep(session, "default", FIRST + place, {**entries, **one}, is_measured=True)
    session.flush()
    rollup.roll_up(session, state, FIRST // PER_HOUR + rolled)


def counted(minutes: Minutes, begun: int, ended: int) -> dict[str, Amounts]:
    found: dict[str, Amounts] = {}
    for place, entries in minutes.items():
        for number, each in entries.items() if begun <= place < ended else ():
            team = TEAMS[number - 1]
            found[team] = found.get(team, Amounts()) + each
    return found


def window(begun: int, ended: int) -> Window:
    return Window(BEGIN + timedelta(minutes=begun), BEGIN + timedelta(minutes=ended))


def by_team(session: Session, begun: int, ended: int) -> dict[str, Amounts]:
    return use(session, window(begun, ended)).by(lambda series: series.team)


def joined(several: Iterable[Mapping[str, Amounts]]) -> dict[str, Amounts]:
    found: dict[str, Amounts] = {}
    for each in several:
        for name, amount in each.items():
            found[name] = found.get(name, Amounts()) + amount
    return found


def test_sums_are_what_the_samples_say(database: Database) -> None:
    @given(samples, places, places, st.integers(0, 4))
    @settings(max_examples=60)
    def check(minutes: Minutes, one: int, other: int, rolled: int) -> None:
        begun, ended = sorted((one, other))
        database.transaction(lambda session: write(session, minutes, rolled))
        found = database.read(lambda session: by_team(session, begun, ended))
        assert found == counted(minutes, begun, ended)

    check()


def test_parts_of_a_time_add_up(database: Database) -> None:
    @given(samples, places, places, places, st.integers(0, 4))
    @settings(max_examples=60)
    def check(minutes: Minutes, one: int, two: int, three: int, rolled: int) -> None:
        begun, between, ended = sorted((one, two, three))
        database.transaction(lambda session: write(session, minutes, rolled))
        whole_time = database.read(lambda session: by_team(session, begun, ended))
        parts = [
            database.read(partial(by_team, begun=of[0], ended=of[1]))
            for of in ((begun, between), (between, ended))
        ]
        assert joined(parts) == whole_time

    check()


def test_parts_add_up_after_minutes_went(database: Database) -> None:
    @given(samples, places, places, places, st.integers(0, 4), st.integers(0, 4))
    @settings(max_examples=60)
    def check(minutes: Minutes, one: int, two: int, three: int, floor: int, fives: int) -> None:
        begun, between, ended = sorted((one, two, three))

        def work(session: Session) -> None:
            write(session, minutes, 4)
            state = rollup.begin(session, "default", FIRST)
            floors = (FIRST + floor * PER_HOUR, FIRST + fives * PER_HOUR, FIRST)
            rollup.forget(session, state, floors)

        database.transaction(work)
        whole_time = database.read(lambda session: by_team(session, begun, ended))
        parts = [
            database.read(partial(by_team, begun=of[0], ended=of[1]))
            for of in ((begun, between), (between, ended))
        ]
        assert joined(parts) == whole_time
        assert database.read(lambda session: by_team(session, 0, LENGTH)) == counted(
            minutes, 0, LENGTH
        )

    check()


def test_slots_of_a_timeline_add_up(database: Database) -> None:
    @given(samples, st.integers(0, 4), st.sampled_from((1, 5, 60)))
    @settings(max_examples=60)
    def check(minutes: Minutes, rolled: int, step: int) -> None:
        database.transaction(lambda session: write(session, minutes, rolled))
        time = window(0, LENGTH)
        found = database.read(
            lambda session: timeline(
                session, time, "default", timedelta(minutes=step), lambda series: series.team
            )
        )
        assert joined(each.held for each in found) == counted(minutes, 0, LENGTH)
        assert sum(each.minutes for each in found) == len(minutes)
        assert [each.at for each in found] == sorted(
            {moment_of(FIRST + place // step * step) for place in minutes}
        )

    check()


def test_hours_are_those_of_a_timeline(database: Database) -> None:
    """Whether they are summed up already or not."""

    @given(samples, st.integers(0, 4))
    @settings(max_examples=30)
    def check(minutes: Minutes, rolled: int) -> None:
        database.transaction(lambda session: write(session, minutes, rolled))
        span, hour = window(0, LENGTH), timedelta(hours=1)
        held = database.read(lambda session: held_by_hour(session, span, "default"))
        slots = database.read(lambda s: timeline(s, span, "default", hour, lambda _series: ""))
        assert held == {each.at: pytest.approx(each.gpus("")) for each in slots}

    check()


@given(st.dictionaries(st.integers(1, 100_000), amounts()))
def test_what_is_packed_comes_back(entries: dict[int, Amounts]) -> None:
    assert unpack(pack(entries)) == entries
    assert add_up([pack(entries)]) == entries
    assert add_up([]) == {}


@given(amounts())
def test_shares_are_within_one_or_unknown(each: Amounts) -> None:
    assert each.gpu_hours >= 0
    if each.measured:
        assert each.efficiency is not None
        assert 0 <= each.efficiency <= 1
    else:
        assert (each.efficiency, each.busy_gpu_hours, each.idle_gpu_hours) == (None, None, None)
    assert each.known is None if not each.allocated else 0 <= (each.known or 0) <= 1


def test_gaps_are_unknown_and_said(database: Database) -> None:
    held = {1: Amounts(allocated=4000), 2: Amounts(2000, 2000, 500, 1000, 40, 80)}
    minutes = dict.fromkeys(range(30), held)
    database.transaction(lambda session: write(session, minutes, 0))
    found = database.read(lambda session: use(session, window(0, 120)))
    assert found.sampled == {"default": 0.25}
    assert found.held.known == pytest.approx(1 / 3)
    assert found.of_team("team-a").held.efficiency is None
    assert found.of_team("team-a").held.busy_gpu_hours is None
    assert found.of_team("team-b").held.busy_gpu_hours == Decimal("0.25")
    assert found.of_team("team-b").held.idle_gpu_hours == Decimal("0.5")
    assert found.of_team("team-b").held.memory == 0.5
    assert found.capacity_gpu_hours is None
    assert found.borrowed_by_team() == {}


def test_the_latest_sample_has_two_ages(database: Database) -> None:
    def work(session: Session) -> None:
        write(session, {0: {1: Amounts(2000, 2000, 1000)}}, 0)
        rollup.keep(session, "default", FIRST + 1, {1: Amounts(4000)})

    database.transaction(work)
    now = database.read(lambda session: latest(session, "default"))
    assert (now.sampled_at, now.measured_at) == (BEGIN + timedelta(minutes=1), BEGIN)
    assert [each.amounts for each in now.parts] == [Amounts(4000)]
    assert [each.amounts for each in now.measured] == [Amounts(2000, 2000, 1000)]
    assert database.read(lambda session: latest(session, "elsewhere")).sampled_at is None
