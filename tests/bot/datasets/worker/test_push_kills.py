"""A push is killed at moments nobody chose; what is stored is whole, and the next one ends it."""

import random
import subprocess
import threading

import pytest

from bot.datasets.worker.parts import PART_BYTES
from tests.bot.datasets.worker.pushes import Folder
from tests.bot.datasets.worker.workers import ROOT, command

FILES = 120
LIFE_SECONDS = 0.6


@pytest.fixture
def large_folder(folder: Folder, chance: random.Random) -> Folder:
    small = {
        f"{number % 7}/{number:04}": chance.randbytes(chance.randrange(20_000))
        for number in range(FILES)
    }
    folder.write(small | {"large": chance.randbytes(3 * PART_BYTES + 5)})
    return folder


def lived(folder: Folder, seconds: float) -> bool:
    """Whether a worker came to its end within that time after its first words."""
    words = folder.words("--workers", "2")
    with subprocess.Popen(command(*words), cwd=ROOT, stdout=subprocess.PIPE) as worker:
        assert worker.stdout
        worker.stdout.readline()
        threading.Event().wait(seconds)
        worker.kill()
        return worker.wait() == 0


def killed_until_complete(folder: Folder, chance: random.Random, kills: int) -> None:
    expected, done = folder.files(), 0
    while done < kills:
        complete = lived(folder, chance.uniform(0, LIFE_SECONDS))
        done += not complete
        stored = folder.stored()
        assert stored.items() <= expected.items()
        if complete:
            assert stored == expected
            for key in chance.sample(sorted(stored), len(stored) // 2):
                folder.lake.client.delete_object(Bucket=folder.bucket, Key=f"set/{key}")
    folder.copy()
    assert (folder.stored(), folder.unfinished()) == (expected, [])


def test_random_kills_store_whole_objects_only(large_folder: Folder, chance: random.Random) -> None:
    killed_until_complete(large_folder, chance, kills=5)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_fifty_random_kills_lose_no_file(large_folder: Folder, chance: random.Random) -> None:
    killed_until_complete(large_folder, chance, kills=50)
