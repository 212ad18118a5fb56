"""Whoever looks at a soak says no where something is lost, doubled, untrue or grows."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

import pytest

from playground.slack.people import BOT_USER, Message
from playground.slack.posting import post
from playground.world import Options
from tests.handlers.command_client import ALICE, TEAM_A
from tests.soak.figures import Figures, Sample
from tests.soak.people import ENDLESS, Act
from tests.soak.soak import SETUP, Soak, is_deadly, soaking
from tests.soak.store import Store

SUBMIT = f"/train submit lane --image {ENDLESS} --gpus 1 -- python train.py"


@contextmanager
def told(soak: Soak, **words: Any) -> Iterator[None]:
    """Somebody was told of a thing that is not there."""
    soak.people.acts.append(Act(ALICE, TEAM_A, is_heard=True, told="", **words))
    yield
    soak.people.acts.pop()


@contextmanager
def stopped(soak: Soak) -> Iterator[None]:
    soak.people.stopped.add("lane")
    yield
    soak.people.stopped.clear()


@contextmanager
def decided(soak: Soak) -> Iterator[None]:
    """Carol was told of a decision, and the card still waits for one."""
    card = Message(TEAM_A, "", BOT_USER, "Quota override · Waiting for approval")
    soak.people.decided.append(card)
    yield
    soak.people.decided.clear()


@contextmanager
def shown(soak: Soak, *texts: str) -> Iterator[None]:
    """Cards that nobody asked for."""
    made = [Message(TEAM_A, "", BOT_USER, text) for text in texts]
    for message in made:
        post(soak.world.slack, message)
    soak.judge.contents["d0"] = {"0.png": b"0"}
    yield
    for message in made:
        message.deleted = True


@contextmanager
def quota_is_raised(soak: Soak) -> Iterator[None]:
    soak.world.cluster.set_quota("team-a", "8")
    yield
    soak.world.cluster.set_quota("team-a", "4")


@contextmanager
def volume_is_fast(soak: Soak) -> Iterator[None]:
    assert soak.world.azure is not None
    (volume,) = soak.world.azure.estate.volumes
    before, volume.own_throughput = volume.own_throughput, 90
    yield
    volume.own_throughput = before


@contextmanager
def message_is_dead(soak: Soak) -> Iterator[None]:
    change = "UPDATE messages SET is_dead = ? WHERE id = (SELECT min(id) FROM messages)"
    with closing(sqlite3.connect(soak.judge.database, timeout=30)) as rows:
        for is_dead in (1, 0):
            rows.execute(change, [is_dead])
            rows.commit()
            if is_dead:
                yield


@contextmanager
def log_says(soak: Soak, line: str) -> Iterator[None]:
    with soak.world.bot.log.open("a") as log:
        print(line, file=log)
    yield
    soak.judge.errors.clear()


@contextmanager
def person_reads(soak: Soak) -> Iterator[None]:
    soak.people.wrong.append("Something went wrong on our side.")
    yield
    soak.people.wrong.clear()


CASES: list[tuple[Callable[[Soak], AbstractContextManager[None]], str]] = [
    (partial(told, text=SUBMIT, card="gone"), "'gone'): 1 were acknowledged, 0 are there"),
    (partial(told, text="/quota request +2", card="soak-1"), "'soak-1'): 1 were acknowledged, 0"),
    (lambda soak: shown(soak, "lane · Running"), "'lane'): 1 were acknowledged, 2 are there"),
    (lambda soak: shown(soak, *2 * ["GPUs, Monday 2 March 2026"]), "digests twice"),
    (lambda soak: shown(soak, "d0@v1 on premium · Ready"), "0 PVCs have its files"),
    (lambda soak: shown(soak, "d0@v1 · Listing for 4m"), "says 'Listing for 4m' while"),
    (stopped, "lane was to stop: Running"),
    (decided, "Carol has decided, and the card says Quota override"),
    (quota_is_raised, "the quota is 8, cards say 4"),
    (volume_is_fast, "scratch has 90 MiB/s, cards say []"),
    (message_is_dead, "1 messages were given up"),
    (partial(log_says, line='{"level": "error", "event": "broken"}'), "1 errors"),
    (partial(log_says, line="Traceback (most recent call last):"), "1 errors"),
    (person_reads, "Something went wrong"),
]


async def judged(options: Options) -> None:
    """A run at rest, with which nothing is wrong; then one thing after another is."""
    async with soaking(options, None, Store()) as soak:
        act = Act(ALICE, TEAM_A, SUBMIT, r"Submitted run lane\b", card="lane")
        assert (await soak.people.does(act)).is_heard
        await soak.comes_to_rest("the beginning")
        for happens, seen in CASES:
            with happens(soak):
                assert seen in soak.judge.wrong()
            assert soak.judge.wrong() == "", seen
        faults = soak.faults
        drawn = [faults.draw(Random(s), len(faults.sorts), deadly=True) for s in (7, 7, 8)]  # noqa: S311
        assert drawn[0] == drawn[1] != drawn[2]
        assert sorted(drawn[0]) == sorted(faults.sorts)
        calm = faults.draw(Random(7), 40, deadly=False)  # noqa: S311  # repeatable
        assert not any(sort.startswith("Bot:") for sort in calm)


@pytest.mark.slow
def test_what_is_wrong_in_soak_is_seen(options: Options, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/quartermaster.db"
    asyncio.run(judged(replace(options, setup=SETUP, template=None, database_url=url)))


def test_one_bot_lives_ever_longer() -> None:
    spans = [(dies, len(list(rounds))) for dies, rounds in groupby(map(is_deadly, range(256)))]
    assert spans == [(True, 8), (False, 8), (True, 16), (False, 32), (True, 64), (False, 128)]


CALM = Sample(
    life=1,
    seconds=60.0,
    memory_mib=200.0,
    threads=40,
    open_files=50,
    temporary_files=0,
    files=frozenset({"bot.log"}),
    database_mib=2.0,
    rows={"runs": 3},
)


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ({}, ""),
        ({"life": 2, "memory_mib": 210.0}, ""),
        ({"life": 2, "memory_mib": 290.0}, "memory_mib grew from 200 to 290"),
        ({"threads": 99}, "threads grew from 40 to 99; threads grew from 40 to 99"),
        ({"life": 2, "open_files": 99}, "open_files grew from 50 to 99"),
        ({"temporary_files": 1}, "temporary files stay"),
        ({"files": frozenset({"bot.log", "core"})}, "new files stay: ['core']"),
    ],
)
def test_growth_between_start_and_end_is_named(end: dict[str, Any], told: str) -> None:
    samples = [CALM] * 4 + [replace(CALM, **end)] * 3
    assert Figures(1, samples).growth() == told
