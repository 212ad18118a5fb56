"""`quartermaster select`: the files of a version by paths and labels, from a real object store."""

import json
from pathlib import Path

import pytest

from tests.bot.datasets.worker.copying_versions import CopiedDataset
from tests.bot.datasets.worker.proxy import proxied
from tests.bot.datasets.worker.test_survey import lost
from tests.bot.datasets.worker.workers import End, ended
from tests.object_stores import Lake

LABELS = b"""\
image,split,finding
train/0.png,train,none
train/cats/1.png,train,"Effusion|Mass"
val/2.png,val,none
3.png,val,Mass
gone.png,train,none
"""
FILES = {
    "labels.csv": LABELS,
    "train/0.png": b"0",
    "train/cats/1.png": b"11",
    "train-old/0.png": b"old",
    "val/2.png": b"222",
    "val/a/3.png": b"3333",
}


class Selected:
    """A version with labels, and what is selected of it."""

    def __init__(self, dataset: CopiedDataset) -> None:
        self.dataset = dataset
        self.first = dataset.record("1", copy=False).last

    def words(self, *criteria: str, digest: str = "", store: str = "") -> list[str]:
        """The command that selects files of version 1 as version 2."""
        where, state = store or self.dataset.lake.store(), self.dataset.state
        return [
            *("select", "--source", f"s3://{self.dataset.bucket}/set/", "--source-store", where),
            *("--manifest", f"s3://{state}/manifests/2/", "--manifest-store", where),
            *("--of", f"s3://{state}/manifests/1/", "--patience", "3"),
            *("--digest", digest or self.first["digest"], *criteria),
        ]

    def end(self, *criteria: str, digest: str = "", store: str = "") -> End:
        return ended(*self.words(*criteria, digest=digest, store=store))

    def keys(self, *criteria: str) -> list[str]:
        """The files that are selected, as the new manifest has them."""
        end = self.end(*criteria)
        assert (end.code, end.complaints) == (0, "")
        index, entries = self.dataset.lake.manifest(self.dataset.state, "manifests/2/")
        told = (end.last["digest"], end.last["objects"], end.last["bytes"])
        assert told == (index.digest, len(entries), sum(each.size for each in entries))
        whole = {each.key: each for each in self.dataset.entries("1")}
        assert [whole[each.key] for each in entries] == entries
        assert index.source == f"s3://{self.dataset.bucket}/set/"
        return [each.key for each in entries]

    def refusal(self, *criteria: str) -> tuple[str, str]:
        """Why nothing is selected; a retry cannot help."""
        end = self.end(*criteria)
        assert end.code == 65
        return end.last["message"], end.last["hint"]


@pytest.fixture
def selected(lake: Lake, tmp_path: Path) -> Selected:
    dataset = CopiedDataset(lake, lake.bucket(), lake.bucket(), tmp_path)
    dataset.put(FILES)
    return Selected(dataset)


def test_any_pattern_selects_paths(selected: Selected) -> None:
    assert selected.keys("--path", "train/", "--path", "val/*.png") == [
        "train/0.png",
        "train/cats/1.png",
        "val/2.png",
    ]


def test_selection_is_filled_like_any_version(selected: Selected) -> None:
    selected.keys("--path", "train/")
    filled = selected.dataset.fill("2", from_copies=False)
    assert (filled.code, filled.last["objects"]) == (0, 2)
    assert selected.dataset.files() == {"train/0.png": b"0", "train/cats/1.png": b"11"}


@pytest.mark.parametrize(
    ("labels", "keys"),
    [
        (("split=train",), ["train/0.png", "train/cats/1.png"]),
        (("split=train,val", "finding=none"), ["train/0.png", "val/2.png"]),
        (("finding=*Mass*",), ["train/cats/1.png", "val/a/3.png"]),
    ],
)
def test_all_labels_select_files(
    selected: Selected, labels: tuple[str, ...], keys: list[str]
) -> None:
    where = (word for label in labels for word in ("--label", label))
    assert selected.keys("--labels", "labels.csv", *where) == keys


def test_only_stars_stand_for_text(selected: Selected) -> None:
    rows = b"path,tag\ntrain/0.png,[OCR] why?\nval/2.png,O whys\n"
    selected.dataset.put({"tags.csv": rows})
    selected.first = selected.dataset.record("1", copy=False).last
    for tag in ("[OCR] why?", "[OCR]*", "*why?"):
        assert selected.keys("--labels", "tags.csv", "--label", f"tag={tag}") == ["train/0.png"]


def test_paths_and_labels_both_select(selected: Selected) -> None:
    found = selected.keys(
        *("--path", "**/*.png", "--path", "labels.csv", "--labels", "labels.csv"),
        *("--label", "split=val"),
    )
    assert found == ["val/2.png", "val/a/3.png"]


def test_lines_of_json_have_labels_of_their_folder(selected: Selected) -> None:
    rows: list[dict[str, object]] = [
        {"file_name": "0.png", "labels": ["cat", "dog"], "kept": True},
        {"file_name": "cats/1.png", "labels": ["cow"], "kept": False},
    ]
    lines = "\n".join(map(json.dumps, rows))
    selected.dataset.put({"train/metadata.jsonl": lines.encode(), "val/0.png": b"0"})
    selected.first = selected.dataset.record("1", copy=False).last
    where = ("--labels", "train/metadata.jsonl", "--label")
    assert selected.keys(*where, "labels=dog") == ["train/0.png"]
    assert selected.keys(*where, "kept=false") == ["train/cats/1.png"]
    # The same name in another folder is none of its files.
    assert selected.keys(*where, "labels=*") == ["train/0.png", "train/cats/1.png"]


def test_tables_with_tabs_and_a_mark_are_read(selected: Selected) -> None:
    selected.dataset.put({"t.tsv": "\ufeffsplit\tpath\ntrain\t./val/2.png\nval\t3.png\n".encode()})
    selected.first = selected.dataset.record("1", copy=False).last
    assert selected.keys("--labels", "t.tsv", "--label", "split=train") == ["val/2.png"]


@pytest.mark.parametrize(
    "rows",
    [
        b"path, split, note\n train/0.png , train, x\nval/2.png, val, train\n",
        b'"path", "split", "note"\n"train/0.png", "train", "x, y"\n"val/2.png", "val", "train"\n',
        b"split , path \ntrain , train/0.png\nval , val/2.png\n",
    ],
)
def test_blanks_around_commas_do_not_count(selected: Selected, rows: bytes) -> None:
    selected.dataset.put({"a.csv": rows})
    selected.first = selected.dataset.record("1", copy=False).last
    assert selected.keys("--labels", "a.csv", "--label", "split=train") == ["train/0.png"]


@pytest.mark.parametrize(
    ("criteria", "refusal"),
    [
        (
            ("--path", "trian/"),
            (
                "None of its files is selected.",
                "Check the spelling. `*` stands for text within one name, `**` for any folders.",
            ),
        ),
        (
            ("--labels", "labels.csv", "--label", "splitt=train"),
            ("labels.csv has no column splitt.", "Did you mean split?"),
        ),
        (
            ("--labels", "labels.csv", "--label", "years=7"),
            ("labels.csv has no column years.", "Its columns: image, split, finding."),
        ),
        (
            ("--labels", "label.csv", "--label", "split=train"),
            (
                "There is no file label.csv.",
                "Name the file with labels by its path in the version, such as train/labels.csv.",
            ),
        ),
    ],
)
def test_what_selects_nothing_is_explained(
    selected: Selected, criteria: tuple[str, ...], refusal: tuple[str, str]
) -> None:
    assert selected.refusal(*criteria) == refusal


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "a.csv has no rows."),
        ("a.csv", b"image,split\n0.png\xff,train\n", "a.csv cannot be read as CSV: "),
        ("a.jsonl", b'["split"]\n', "a.jsonl cannot be read as JSONL: "),
        ("a.jsonl", b'{"path": 7, "split": "a"}', "Row 1 of a.jsonl does not name a file in"),
        (
            "a.jsonl",
            b'{"path": "0.png", "split": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
            "a.jsonl cannot be read as JSONL: ",
        ),
        (
            "a.jsonl",
            b'{"path": "0.png", "split": ' + b"[" * 700 + b"]" * 700 + b"}",
            "a.jsonl cannot be read as JSONL: ",
        ),
        ("a.csv", b"path,split,split\n0.png,train,val\n", "a.csv has more than one column split."),
        ("a.csv", b"path,split, split\n0.png,train,val\n", "a.csv has more than one column split."),
    ],
)
def test_broken_labels_are_explained(
    selected: Selected, name: str, content: bytes, message: str
) -> None:
    selected.dataset.put({name: content})
    selected.first = selected.dataset.record("1", copy=False).last
    found = selected.refusal("--labels", name, "--label", "split=train")
    assert found[0].startswith(message)


def test_labels_too_large_for_the_pod_are_refused(selected: Selected) -> None:
    selected.dataset.put({"a.csv": b"path,split\n".ljust(33 << 20, b"\n")})
    selected.first = selected.dataset.record("1", copy=False).last
    assert selected.refusal("--labels", "a.csv", "--label", "split=train") == (
        "a.csv has 33 MiB; labels are read from files of at most 32 MiB.",
        "Split it by folder, or leave out columns.",
    )


def test_rows_of_json_need_not_have_all_labels(selected: Selected) -> None:
    rows = b'\xef\xbb\xbf{"path": "train/0.png"}\r\n{"path": "val/2.png", "split": "val"}\r\n'
    selected.dataset.put({"a.jsonl": rows})
    selected.first = selected.dataset.record("1", copy=False).last
    assert selected.keys("--labels", "a.jsonl", "--label", "split=*") == ["val/2.png"]
    assert selected.refusal("--labels", "a.jsonl", "--label", "spilt=val") == (
        "a.jsonl has no column spilt.",
        "Did you mean split?",
    )


def test_changed_labels_select_nothing(selected: Selected) -> None:
    selected.dataset.put({"labels.csv": LABELS.replace(b"val", b"train")})
    end = selected.end("--labels", "labels.csv", "--label", "split=train")
    assert (end.code, end.last["reason"], end.last["keys"]) == (65, "changed", ["labels.csv"])


def test_labels_and_files_are_read_from_copies(selected: Selected) -> None:
    dataset = selected.dataset
    selected.first = dataset.record("1").last
    dataset.put({"labels.csv": b"changed", "train/0.png": b"changed"})
    copies = ("--copies", f"s3://{dataset.state}/copies/", "--copies-store", dataset.lake.store())
    end = selected.end("--labels", "labels.csv", "--label", "split=train", *copies)
    assert (end.code, end.last["copy"], end.last["objects"]) == (0, "made", 2)
    assert dataset.fill("2").last["from_copies"] == 1
    assert dataset.files() == {"train/0.png": b"0", "train/cats/1.png": b"11"}


def test_manifest_of_another_version_is_refused(selected: Selected) -> None:
    end = selected.end("--path", "train/", digest="sha256:0")
    assert (end.code, end.last["reason"]) == (65, "wrong_input")


@pytest.mark.parametrize(
    "criteria",
    [("--path", "train/"), ("--labels", "labels.csv", "--label", "split=train")],
)
def test_damaged_manifest_of_a_version_is_named(
    selected: Selected, criteria: tuple[str, ...]
) -> None:
    dataset = selected.dataset
    part = "manifests/1/part-00000.jsonl.gz"
    dataset.lake.client.put_object(Bucket=dataset.state, Key=part, Body=b"overwritten")
    end = selected.end(*criteria)
    assert (end.code, end.complaints, end.last["reason"]) == (65, "", "corrupt")
    assert (end.last["message"], end.last["hint"]) == (
        "The manifest is damaged: part-00000.jsonl.gz differs from the file that was written.",
        "Record the version again: /dataset version NAME",
    )


@pytest.mark.slow
def test_every_lost_request_of_selections_is_repeated(selected: Selected) -> None:
    lake, criteria = selected.dataset.lake, ("--labels", "labels.csv", "--label", "split=train")
    wanted = selected.keys(*criteria)
    with proxied(lake.server.endpoint) as proxy:
        assert selected.end(*criteria, store=lake.store(proxy.endpoint)).code == 0
        count = len(proxy.exchanges)
    for number in range(1, count + 1):
        for spoilt in ({"before": lost(number)}, {"after": lost(number)}):
            with proxied(lake.server.endpoint, **spoilt) as proxy:
                end = selected.end(*criteria, store=lake.store(proxy.endpoint))
            assert (end.code, end.last["objects"]) == (0, len(wanted))
