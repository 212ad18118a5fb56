import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.datasets.manifest import Remark
from bot.datasets.worker.keys import FilesAsFolders, FoldedPaths, problem

keys = st.lists(st.text("ab/A-", min_size=1, max_size=5), unique=True, max_size=20).map(sorted)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("images/0001.png", ""),
        ("a b/é😀\n", ""),
        ("a/...", ""),
        ("é" * 127, ""),
        ("/etc/passwd", "starts with /"),
        ("a/", "ends with / but has content"),
        ("a\0b", "has a NUL character"),
        ("a/../b", "has the part '..' in its path"),
        ("..", "has the part '..' in its path"),
        ("a/./b", "has the part '.' in its path"),
        ("a//b", "has // in its path"),
        ("a/" + "é" * 128, "has a name of 256 bytes; file systems allow 255"),
    ],
)
def test_keys_that_cannot_be_files_are_named(key: str, words: str) -> None:
    assert problem(key) == words


def folders_of(key: str) -> set[str]:
    return {key[:place] for place, letter in enumerate(key) if letter == "/"}


@given(keys)
def test_files_that_are_folders_agree_with_model(found: list[str]) -> None:
    finder = FilesAsFolders()
    named = {key for key in found if finder.folder_that_is_a_file(key)}
    assert named == {key for key in found if folders_of(key) & (set(found) - {""})}


@given(keys)
def test_clashes_by_case_agree_with_model(found: list[str]) -> None:
    finder = FoldedPaths()
    for key in found:
        finder.note(key)
    told = {remark.key for remark in finder.clashes(lambda: found)}
    paths = {path for key in found for path in {key, *folders_of(key)}}
    alike: dict[str, set[str]] = {}
    for path in paths:
        alike.setdefault(path.casefold(), set()).add(path)
    clashing = [group for group in alike.values() if len(group) > 1]
    # Of each group all but one are named.
    assert sum(map(len, clashing)) - len(clashing) == len(told)
    assert told <= set().union(*clashing)


def test_clash_names_the_path_it_clashes_with() -> None:
    finder = FoldedPaths()
    found = ["Images/1.png", "images/2.png"]
    for key in found:
        finder.note(key)
    assert list(finder.clashes(lambda: found)) == [
        Remark("images", "differs from Images only in case")
    ]
