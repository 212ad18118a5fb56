from pathlib import Path

import pytest

from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.tree import PathEntry, Tree

KEYS = ["a-b", "a.c/x", "a/b/two", "a/one", "a0", "é", "😀"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for key in KEYS:
        (tmp_path / "root" / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / key).write_text(key)
    return tmp_path / "root"


def test_files_come_in_order_of_keys(root: Path) -> None:
    expected = sorted(KEYS, key=str.encode)
    found = list(Tree(root).walk())
    assert found == [PathEntry(key, "file", len(key.encode())) for key in expected]


def test_folder_replaced_by_link_leads_nowhere(root: Path, tmp_path: Path) -> None:
    tree = Tree(root)
    (root / "a").rename(tmp_path / "outside")
    (root / "a").symlink_to(tmp_path / "outside")
    with pytest.raises(WorkError) as failed, tree.opened("a/one"):
        pass
    assert failed.value.message == "a/one changed while it was pushed."
    assert failed.value.reason == "changed"


def test_file_replaced_by_link_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (root / "a0").unlink()
    (root / "a0").symlink_to(tmp_path / "secret")
    with pytest.raises(WorkError, match="a0 changed while it was pushed"), Tree(root).opened("a0"):
        pass


def test_link_on_the_way_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    with pytest.raises(WorkError) as failed:
        Tree(tmp_path / "link" / "a")
    assert failed.value.message == (
        f"{tmp_path}/link/a is not a folder, or its path contains a symbolic link."
    )
