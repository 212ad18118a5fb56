import subprocess

import pytest

from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.fill import finish
from bot.datasets.worker.volume import Ownership, TargetFolder
from tests.bot.datasets.worker.fills import Dataset
from tests.bot.datasets.worker.workers import ROOT, End, command, ended


def words(dataset: Dataset) -> list[str]:
    return ["finish", "--target", str(dataset.volume), "--digest", dataset.digest]


def refused(end: End) -> tuple[str, str]:
    assert (end.code, end.last["reason"]) == (65, "wrong_input")
    return end.last["message"], end.last["hint"]


@pytest.fixture
def kept(dataset: Dataset) -> Dataset:
    """All is copied, and its tree kept open."""
    assert dataset.fill("--keep-open").code == 0
    return dataset


def laid_out(dataset: Dataset) -> dict[str, bytes]:
    """What a layout does: a file gets another place."""
    files = dataset.volume / f".filling-{dataset.digest[7:23]}" / "tree" / "files"
    (files / "classes").mkdir()
    (files / "a" / "one").rename(files / "classes" / "one")
    expected = dict(dataset.content)
    expected["classes/one"] = expected.pop("a/one")
    return expected


def test_fill_kept_open_says_where_files_are(dataset: Dataset) -> None:
    end = dataset.fill("--keep-open")
    assert end.code == 0
    files = f".filling-{dataset.digest[7:23]}/tree/files"
    assert (end.last["ready"], end.last["files"], end.last["copied_files"]) == (False, files, 5)
    assert dataset.files() is None
    assert (dataset.volume / files / "a" / "one").read_bytes() == dataset.content["a/one"]


def test_finish_makes_laid_out_tree_ready(kept: Dataset) -> None:
    expected = laid_out(kept)
    end = ended(*words(kept))
    assert (end.code, end.complaints) == (0, "")
    assert end.last | {"seconds": 0} == {
        "event": "done",
        "phase": "finishing",
        "digest": kept.digest,
        "seconds": 0,
        "ready": True,
    }
    assert (kept.files(), kept.left_over()) == (expected, [])
    assert kept.kept_digest() == (f"{kept.digest}\n", kept.digest)
    again = ended(*words(kept))
    assert (again.code, again.last["ready"]) == (0, True)
    assert kept.fill("--keep-open").last["ready"]


def test_fill_repeated_leaves_the_layout_alone(kept: Dataset) -> None:
    expected = laid_out(kept)
    again = kept.fill("--keep-open")
    assert (again.last["copied_files"], again.last["ready"]) == (0, False)
    assert ended(*words(kept)).code == 0
    assert kept.files() == expected


def test_plain_fill_of_open_tree_is_refused(kept: Dataset) -> None:
    message, hint = refused(kept.fill())
    assert message == f"{kept.volume} is complete and kept open for a layout."
    assert hint == "Make it ready: quartermaster finish --target ... --digest ..."
    assert kept.files() is None


@pytest.mark.parametrize("filled", [True, False])
def test_finish_wants_this_complete_copy(dataset: Dataset, *, filled: bool) -> None:
    if filled:
        dataset.fill("--keep-open")
        dataset.digest = f"sha256:{'0' * 64}"
    message, hint = refused(ended(*words(dataset)))
    assert message == (
        f"{dataset.volume} has no complete copy of {dataset.digest} that is kept open."
    )
    assert hint == "Fill it first: quartermaster fill --keep-open ..."
    assert dataset.files() is None


def test_layout_that_removes_all_is_refused(kept: Dataset) -> None:
    volume = TargetFolder(kept.volume, kept.digest, Ownership())
    for path in (kept.volume / volume.growing).rglob("*"):
        if path.is_file():
            path.unlink()
    with pytest.raises(WorkError) as failed:
        finish(volume)
    assert failed.value.message == f"{kept.volume / volume.growing} no longer has any files."
    assert kept.files() is None


def test_shards_keep_one_tree_open(dataset: Dataset) -> None:
    ends = [dataset.fill("--keep-open", "--shards", "2", "--shard", str(n)) for n in range(2)]
    assert [(end.code, end.last.get("files", "")) for end in ends] == [
        (0, ""),
        (0, f".filling-{dataset.digest[7:23]}/tree/files"),
    ]
    assert ended(*words(dataset)).code == 0
    assert dataset.files() == dataset.content


def test_two_that_finish_make_one_tree(kept: Dataset) -> None:
    running = [
        subprocess.Popen(command(*words(kept)), cwd=ROOT, stdout=subprocess.DEVNULL)
        for _ in range(3)
    ]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    assert (kept.files(), kept.left_over()) == (kept.content, [])
