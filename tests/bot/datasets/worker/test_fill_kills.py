"""The worker is killed at moments nobody chose; the tree ends complete, or is not there at all."""

import random
import shutil
import subprocess
import threading

import pytest

from bot.datasets.worker.copying import PIECE_BYTES
from tests.bot.datasets.worker.fills import Dataset
from tests.bot.datasets.worker.workers import ROOT, command

OBJECTS = 400
LIFE_SECONDS = 0.6


def many(chance: random.Random) -> dict[str, bytes]:
    small = {
        f"{number % 7}/{number:04}": chance.randbytes(chance.randrange(20_000))
        for number in range(OBJECTS)
    }
    return small | {"large": chance.randbytes(3 * PIECE_BYTES + 5)}


def lived(dataset: Dataset, seconds: float) -> bool:
    """Whether a worker came to its end within that time after its first words."""
    with subprocess.Popen(
        command(*dataset.words("--workers", "2")), cwd=ROOT, stdout=subprocess.PIPE
    ) as worker:
        assert worker.stdout
        worker.stdout.readline()
        threading.Event().wait(seconds)
        worker.kill()
        return worker.wait() == 0


def killed_until_complete(dataset: Dataset, chance: random.Random, kills: int) -> None:
    done = 0
    while done < kills:
        if lived(dataset, chance.uniform(0, LIFE_SECONDS)):
            assert dataset.files() == dataset.content
            shutil.rmtree(dataset.volume / "ready")
        else:
            done += 1
            assert dataset.files() in (None, dataset.content)
    last = dataset.copy()
    assert last.is_ready
    assert dataset.files() == dataset.content
    assert (dataset.volume / "ready" / "digest").read_text() == f"{dataset.digest}\n"


@pytest.fixture
def large_dataset(dataset: Dataset, chance: random.Random) -> Dataset:
    dataset.put(many(chance))
    dataset.survey()
    return dataset


def test_random_kills_leave_whole_tree_or_none(
    large_dataset: Dataset, chance: random.Random
) -> None:
    killed_until_complete(large_dataset, chance, kills=7)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_fifty_random_kills_leave_no_hole(large_dataset: Dataset, chance: random.Random) -> None:
    killed_until_complete(large_dataset, chance, kills=50)
