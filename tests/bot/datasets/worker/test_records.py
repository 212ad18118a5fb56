import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bot.datasets.worker.records import Done, Record, boot_id, read


def believed(path: Path, boot: str) -> set[int]:
    done = read(path, boot)
    return {ordinal for ordinal in range(3000) if ordinal in done}


def nothing() -> None:
    pass


def test_record_is_believed_while_machine_runs(tmp_path: Path) -> None:
    record = Record(tmp_path / "record")
    for ordinal in (3, 1, 2, 9):
        record.add(ordinal, 10)
    record.close()
    assert believed(tmp_path / "record", boot_id()) == {1, 2, 3, 9}
    assert read(tmp_path / "record", boot_id()).bytes == 40
    assert believed(tmp_path / "record", "another start of the machine") == set()


def test_synced_record_is_believed_everywhere(tmp_path: Path) -> None:
    record = Record(tmp_path / "record")
    record.add(1, 10)

    def while_syncing() -> None:
        record.add(2, 10)
        record.flush()

    record.sync(while_syncing)
    record.add(3, 10)
    record.close()
    assert believed(tmp_path / "record", "another") == {1}
    assert believed(tmp_path / "record", boot_id()) == {1, 2, 3}


def test_record_of_several_lives_adds_up(tmp_path: Path) -> None:
    for life in range(3):
        record = Record(tmp_path / "record")
        record.add(life, 1)
        record.close()
    assert believed(tmp_path / "record", boot_id()) == {0, 1, 2}


def test_only_a_finished_record_is_complete(tmp_path: Path) -> None:
    record = Record(tmp_path / "record")
    record.sync(nothing)
    assert not read(tmp_path / "record", "").complete
    record.complete()
    record.close()
    assert read(tmp_path / "record", "").complete
    assert not read(tmp_path / "none", "").complete


@given(st.integers(0, 400), st.sets(st.integers(0, 2000), max_size=40))
def test_record_cut_anywhere_tells_no_lie(cut: int, ordinals: set[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "record")
        record = Record(path)
        for ordinal in ordinals:
            record.add(ordinal, 1)
            record.flush()
        record.close()
        path.write_bytes(path.read_bytes()[: -cut or None])
        left = believed(path, boot_id())
        assert left <= ordinals
        again = Record(path)
        again.add(2500, 1)
        again.close()
        assert believed(path, boot_id()) == left | {2500}


@given(st.sets(st.integers(0, 500)))
def test_done_agrees_with_a_set(ordinals: set[int]) -> None:
    done = Done()
    for ordinal in ordinals:
        done.add(ordinal, ordinal)
    assert {ordinal for ordinal in range(600) if ordinal in done} == ordinals
    assert len(done) == len(ordinals)
