"""A volume is copied to another one: everything arrives as it was, or it says what does not."""

import os
import random
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.progress import CopyProgress
from bot.datasets.worker.tree_copy.copying import (
    CopyOrder,
    CopyResult,
    TreeCopier,
    TreeScan,
    copy_tree,
)
from tests.bot.datasets.worker.workers import ROOT, End, command, ended

HOLE = 8 * 2**20
OTHER_USER = 4711
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")


@dataclass(frozen=True)
class Volumes:
    """The old volume and the new one."""

    source: Path
    target: Path

    def write(self, name: str, content: bytes = b"content") -> Path:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def order(self, *, live: bool = False) -> CopyOrder:
        return CopyOrder(self.source, self.target, 4, live=live)

    def copy(self, *, live: bool = False) -> CopyResult:
        return copy_tree(self.order(live=live), CopyProgress("listing"))

    def words(self) -> list[str]:
        return ["copy", "--source", str(self.source), "--target", str(self.target)]

    def run(self) -> End:
        return ended(*self.words())


@pytest.fixture
def volumes(tmp_path: Path) -> Volumes:
    found = Volumes(tmp_path / "source", tmp_path / "target")
    found.source.mkdir()
    found.target.mkdir()
    return found


def shown(root: Path) -> dict[str, tuple[object, ...]]:
    """What is below a folder, with everything that a copy keeps."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [root, *sorted(root.rglob("*"))]:
        told = path.lstat()
        content: object = path.readlink() if path.is_symlink() else b""
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
        name = path.relative_to(root).as_posix()
        kept = (told.st_mode, told.st_uid, told.st_gid, told.st_mtime_ns)
        # The number of names of a folder depends on the file system.
        found[name] = (*kept, None if path.is_dir() else told.st_nlink, content)
    return found


def test_everything_arrives_as_it_was(volumes: Volumes) -> None:
    volumes.write("train/a/1.png", b"one")
    volumes.write("train/empty", b"")
    volumes.write("run.sh").chmod(0o750)
    volumes.write("with a space\nand a line")
    os.utime(volumes.source / "run.sh", ns=(1_600_000_000_000_000_001, 1_600_000_000_123_456_789))
    (volumes.source / "latest").symlink_to("train/a")
    (volumes.source / "broken").symlink_to("/nowhere")
    (volumes.source / "bare").mkdir(mode=0o711)
    os.link(volumes.source / "run.sh", volumes.source / "train" / "same.sh")
    os.utime(volumes.source / "train", ns=(0, 1_500_000_000_000_000_000))
    result = volumes.copy()
    assert shown(volumes.target) == shown(volumes.source)
    assert (result.files, result.copied_files, result.others, result.changed) == (5, 4, 0, 0)
    assert dict(result.counts) == {"folders": 3, "links": 2, "hardlinks": 1}
    first, second = volumes.target / "run.sh", volumes.target / "train" / "same.sh"
    assert first.stat().st_ino == second.stat().st_ino


def test_holes_and_attributes_are_kept(volumes: Volumes) -> None:
    sparse = volumes.write("sparse", b"")
    with sparse.open("r+b") as file:
        file.truncate(2 * HOLE)
        file.seek(HOLE)
        file.write(b"in the middle")
    os.setxattr(sparse, "user.origin", b"camera 7")
    result = volumes.copy()
    copied = volumes.target / "sparse"
    assert copied.read_bytes() == sparse.read_bytes()
    assert copied.stat().st_blocks * 512 < HOLE
    assert os.getxattr(copied, "user.origin") == b"camera 7"
    assert (result.counts["sparse"], result.counts["attributes"]) == (1, 1)


@AS_ROOT
def test_owners_are_kept_and_corrected(volumes: Volumes) -> None:
    path = volumes.write("theirs/model.pt")
    for each in (path, path.parent):
        os.chown(each, OTHER_USER, OTHER_USER)
    path.chmod(0o4750)
    volumes.copy()
    assert shown(volumes.target) == shown(volumes.source)
    os.chown(path, OTHER_USER + 1, OTHER_USER)
    assert volumes.copy().copied_files == 0
    assert shown(volumes.target) == shown(volumes.source)


@AS_ROOT
def test_users_without_leave_say_so(volumes: Volumes) -> None:
    path = volumes.write("theirs")
    path.chmod(0o600)
    os.chown(path, OTHER_USER, OTHER_USER)
    # Root as in a pod that drops all capabilities, and as NFS servers that squash root see it.
    without = "-dac_override,-dac_read_search"
    drop = ("setpriv", f"--inh-caps={without}", f"--bounding-set={without}")
    program = [*drop, *command(*volumes.words())]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, check=False, timeout=60)
    assert b"no_access" in done.stdout
    assert done.returncode == 65
    assert b"theirs: Permission denied, as uid 0." in done.stdout


def test_sockets_and_pipes_are_counted(volumes: Volumes) -> None:
    os.mkfifo(volumes.source / "pipe")
    folder = os.open(volumes.source, os.O_PATH)  # the path of a socket has to be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"/proc/self/fd/{folder}/socket")
        os.close(folder)
        result = volumes.copy()
    assert (result.counts["special"], list(volumes.target.iterdir())) == (2, [])


def test_what_belongs_to_the_storage_stays(volumes: Volumes) -> None:
    volumes.write(".snapshot/hourly.0/old")
    volumes.write("lost+found/x")
    volumes.write("train/lost+found/y")
    volumes.copy()
    found = sorted(path.relative_to(volumes.target).as_posix()
                   for path in volumes.target.rglob("*"))  # fmt: skip
    assert found == ["train", "train/lost+found", "train/lost+found/y"]


def test_second_copy_copies_only_changes(volumes: Volumes) -> None:
    for number in range(20):
        volumes.write(f"{number:02}")
    assert volumes.copy().copied_files == 20
    volumes.write("07", b"changed")
    os.utime(volumes.source / "07", ns=(0, 1))
    assert volumes.copy().copied_files == 1
    assert shown(volumes.target) == shown(volumes.source)


def test_files_of_others_at_the_target_stay(volumes: Volumes) -> None:
    volumes.write("a")
    (volumes.target / "notes").write_text("mine")
    assert volumes.copy().others == 1
    assert (volumes.target / "notes").read_text() == "mine"


class Writer(TreeCopier):
    """A copy during which somebody writes to the source before every look."""

    def __init__(self, volumes: Volumes, write: Callable[[int], object], *, live: bool) -> None:
        super().__init__(volumes.order(live=live), CopyProgress("listing"))
        self._write, self._number = write, 0

    @override
    def _look(self) -> TreeScan:
        self._number += 1
        self._write(self._number)
        return super()._look()


def test_changes_during_the_copy_are_copied(volumes: Volumes) -> None:
    volumes.write("a")
    result = Writer(
        volumes, lambda n: n == 2 and volumes.write("a", b"longer than before"), live=False
    ).run()
    assert (result.changed, (volumes.target / "a").read_bytes()) == (0, b"longer than before")


def test_endless_changes_fail_unless_live(volumes: Volumes) -> None:
    def write(number: int) -> None:
        volumes.write("a", b"x" * number)

    with pytest.raises(WorkError) as caught:
        Writer(volumes, write, live=False).run()
    assert (caught.value.reason, caught.value.message) == (
        "changed", "1 file still changed when everything had been copied.",
    )  # fmt: skip
    assert Writer(volumes, write, live=True).run().changed == 1


def test_files_that_come_and_go_hide_no_others(volumes: Volumes) -> None:
    """A training writes files and deletes them in the folder that is copied."""
    for number in range(200):
        volumes.write(f"steps/{number:03}")
    churn = (
        "import pathlib, sys\n"
        "for number in range(10**9):\n"
        "    passing = pathlib.Path(sys.argv[1], f'passing-{number}')\n"
        "    passing.touch()\n"
        "    passing.unlink()\n"
    )
    words = [sys.executable, "-c", churn, str(volumes.source / "steps")]
    with subprocess.Popen(words) as training:
        try:
            results = [volumes.copy(live=True) for _ in range(15)]
        finally:
            training.kill()
    assert not [each for each in results if each.files < 200]
    assert {f"{number:03}" for number in range(200)} <= {
        each.name for each in (volumes.target / "steps").iterdir()
    }


def test_link_that_disappears_hides_no_files(volumes: Volumes) -> None:
    """Links that a training renews all the time are in one batch with files that stay."""
    volumes.write("weights")

    class Renewing(TreeCopier):
        @override
        def _look(self) -> TreeScan:
            (volumes.source / "latest").symlink_to("weights")
            return super()._look()

        @override
        def _symlink(self, *told: Any) -> None:
            (volumes.source / "latest").unlink()
            super()._symlink(*told)

    result = Renewing(volumes.order(live=True), CopyProgress("listing")).run()
    assert (result.changed, result.copied_files) == (1, 1)
    assert (volumes.target / "weights").read_bytes() == b"content"


@pytest.mark.parametrize("was", ["file", "link"])
def test_folder_replaces_what_was_copied_before(volumes: Volumes, was: str) -> None:
    path = volumes.write("runs") if was == "file" else volumes.source / "runs"
    if was == "link":
        path.symlink_to("elsewhere")
    volumes.copy()
    path.unlink()
    volumes.write("runs/1")
    volumes.copy()
    assert shown(volumes.target) == shown(volumes.source)


@pytest.mark.parametrize("now", ["file", "link"])
def test_folder_is_not_deleted_for_a_file(volumes: Volumes, now: str) -> None:
    (volumes.target / "runs").mkdir()
    (volumes.target / "runs" / "theirs").write_bytes(b"of others")
    if now == "file":
        volumes.write("runs")
    else:
        (volumes.source / "runs").symlink_to("elsewhere")
    with pytest.raises(WorkError) as caught:
        volumes.copy(live=True)
    assert (caught.value.reason, caught.value.message, caught.value.hint) == (
        "changed",
        "runs is a folder in the new PVC, and a file or link in the old one.",
        "Delete or rename it in the new PVC, then copy again.",
    )
    assert (volumes.target / "runs" / "theirs").read_bytes() == b"of others"


def test_links_do_not_lead_outside(volumes: Volumes, tmp_path: Path) -> None:
    """A folder that becomes a link while it is copied is not followed."""
    volumes.write("folder/inside")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "inside").write_bytes(b"another secret")

    def swap(number: int) -> None:
        if number == 1:
            shutil.rmtree(volumes.source / "folder")
            (volumes.source / "folder").symlink_to(outside)

    Writer(volumes, swap, live=True).run()
    assert (volumes.target / "folder").readlink() == outside


def test_volume_that_is_too_small_is_refused(volumes: Volumes, chance: random.Random) -> None:
    """Before anything is copied; the file system of the target has 1 MiB."""
    volumes.write("large", chance.randbytes(2 * 2**20))
    script = 'mount -t tmpfs -o size=1m none "$1" && shift && exec "$@"'
    inside = ["unshare", "--mount", "sh", "-c", script, "sh", str(volumes.target)]
    done = subprocess.run(
        [*inside, *command(*volumes.words())], cwd=ROOT, capture_output=True, check=False,
        timeout=60,
    )  # fmt: skip
    if b"mount" in done.stderr or b"unshare" in done.stderr:
        pytest.skip("nothing can be mounted here")
    assert done.returncode == 65
    assert b"and the new volume has 1,048,576." in done.stdout
    assert b'"reason":"no_room"' in done.stdout


def test_worker_says_what_it_copied(volumes: Volumes) -> None:
    volumes.write("a", b"12345")
    done = volumes.run()
    kept = {key: value for key, value in done.last.items() if key != "seconds"}
    assert (done.code, kept) == (
        0,
        {
            "event": "done", "phase": "verifying", "objects": 1, "bytes": 5, "copied_files": 1,
            "copied_bytes": 5, "verified_by": {"checksum": 1}, "verified_bytes": {"checksum": 5},
            "counts": {}, "others": 0, "changed": 0,
        },
    )  # fmt: skip
    missing = ended("copy", "--source", "/nowhere", "--target", str(volumes.target))
    assert (missing.code, missing.last["message"]) == (65, "/nowhere is not a folder.")


def test_killed_copies_go_on(volumes: Volumes, chance: random.Random) -> None:
    for number in range(150):
        volumes.write(f"{number % 9}/{number:03}", chance.randbytes(chance.randrange(200_000)))
    expected = {name: each[-1] for name, each in shown(volumes.source).items()}
    for _ in range(4):
        with subprocess.Popen(
            command(*volumes.words()), cwd=ROOT, stdout=subprocess.PIPE
        ) as worker:
            assert worker.stdout
            worker.stdout.readline()
            threading.Event().wait(chance.uniform(0, 0.15))
            worker.kill()
        there = {name: each[-1] for name, each in shown(volumes.target).items()
                 if ".quartermaster-copying-" not in name}  # fmt: skip
        assert there.items() <= expected.items()
    volumes.copy()
    assert shown(volumes.target) == shown(volumes.source)
