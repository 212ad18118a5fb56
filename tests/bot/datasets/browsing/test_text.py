"""The first lines of files, and what files are that are not text."""

import gzip
import io
import os
import pickle
import sqlite3
import tarfile
import zipfile
from contextlib import closing
from random import Random

import pytest

from bot.datasets.browsing.text import MOST_BYTES, TextHead, text_head
from bot.errors import UsageError


def head(content: bytes, lines: int = 20) -> TextHead:
    """What is shown of a file with that content."""
    begin = content[:MOST_BYTES]
    return text_head(begin, is_whole=len(content) <= MOST_BYTES, most_lines=lines)


def refused(content: bytes) -> str:
    with pytest.raises(UsageError) as caught:
        head(content)
    return caught.value.message


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data.pkl", "1")
    return file.getvalue()


def _tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    return file.getvalue()


def _sqlite() -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table a (b)")
        return connection.serialize()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(9), "a PNG image"),
        (b"\xff\xd8\xff\xe0" + bytes(9), "a JPEG image"),
        (b"\x93NUMPY\x01\x00v\x00", "a NumPy array"),
        (b"PAR1\x15\x00\x15", "a Parquet file"),
        (b"%PDF-1.7\nhello\n", "a PDF document"),
        (bytes(128) + b"DICM" + bytes(9), "a DICOM image"),
        (b"\x40\x00\x00\x00\x00\x00\x00\x00" + b'{"a":{}}', "a safetensors model"),
        (pickle.dumps([1.5]), "a Python pickle"),
        (_zip(), "a ZIP archive, or made of one like .npz, .pt and .xlsx"),
        (_tar(), "a tar archive"),
        (_sqlite(), "an SQLite database"),
        (gzip.compress(_tar()), "a tar archive, compressed with gzip"),
        (gzip.compress(gzip.compress(b"a")), "a gzip file, compressed with gzip"),
        (b"a\x00b", "not text, and of an unknown format"),
        (b"\xe9\x01\x02", "not text, and of an unknown format"),
        (bytes(range(255, 0, -1)) * 40, "not text, and of an unknown format"),
    ],
)
def test_files_that_are_not_text_are_named(content: bytes, said: str) -> None:
    assert refused(content) == f"This file is {said}."


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (b"a,b\n1,2\n", TextHead(("a,b", "1,2"), 2, is_whole=True)),
        (b"a\r\nb", TextHead(("a", "b"), 2, is_whole=True)),
        (b"\xef\xbb\xbfname\n", TextHead(("name",), 1, is_whole=True)),
        ("größe\n".encode(), TextHead(("größe",), 1, is_whole=True)),
        (
            "größe “1”\r\n".encode("cp1252"),
            TextHead(
                ("größe “1”",), 1, is_whole=True,
                remarks=("Read as windows-1252, since it is not UTF-8.",),
            ),
        ),
        (
            "a\nb".encode("utf-16"),
            TextHead(("a", "b"), 2, is_whole=True,
                     remarks=("Read as utf-16-le, since it is not UTF-8.",)),
        ),
        (
            gzip.compress(b"a\nb\n") + gzip.compress(b"c\n"),
            TextHead(("a", "b", "c"), 3, is_whole=True, remarks=("Decompressed from gzip.",)),
        ),
        (b"ID3 is a tag, ORC a format\n",
         TextHead(("ID3 is a tag, ORC a format",), 1, is_whole=True)),
        (b"\x1b[31mred \xe2\x80\xae\n", TextHead(("\ufffd[31mred \ufffd",), 1, is_whole=True)),
        (b"\n", TextHead(("",), 1, is_whole=True)),
    ],
)  # fmt: skip
def test_text_is_shown_line_by_line(content: bytes, shown: TextHead) -> None:
    assert head(content) == shown


def test_only_the_requested_lines_are_shown() -> None:
    assert head(b"1\n2\n3\n", 2) == TextHead(("1", "2"), 2, is_whole=False)
    assert head(b"1\n2\n", 2) == TextHead(("1", "2"), 2, is_whole=True)


def test_what_was_not_read_is_said() -> None:
    found = head(b"x" * 40_000 + b"\n" + b"y" * 40_000)
    assert [len(line) for line in found.lines] == [1001]
    assert found.line_count == 1
    assert found.remarks == ("Only the first 64 KiB were read.",)
    assert not found.is_whole


def test_long_texts_end_where_a_message_does() -> None:
    found = head(b"".join(b"%d %s\n" % (number, b"&" * 90) for number in range(50)), 50)
    assert 10 < len(found.lines) < 50
    assert found.line_count == len(found.lines)
    assert found.remarks == ("A message has no room for more.",)


def test_secrets_in_files_are_hidden() -> None:
    key = b"-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----\n"
    found = head(b"token: ghp_" + b"a1B2" * 9 + b"\n" + key + b"end\n")
    said = "\n".join(found.lines)
    assert "ghp_" not in said
    assert "MIIabc" not in said
    assert found.lines[-1] == "end"
    assert found.is_whole


def test_decompressed_content_is_cut_too() -> None:
    content = gzip.compress(b"x" * 50_000_000)
    assert len(content) < MOST_BYTES
    found = head(content)
    assert found.remarks == ("Decompressed from gzip.", "Only the first 64 KiB were read.")
    assert not found.is_whole


@pytest.mark.parametrize("seed", range(200))
def test_any_bytes_are_shown_or_refused(seed: int) -> None:
    random = Random(seed)  # noqa: S311
    content = random.choice(
        [
            random.randbytes(random.randint(1, 300)),
            os.fsencode("".join(random.choices("aä\n\r\t&<>`\u202e\U0001f680\x1b", k=300))),
            gzip.compress(random.randbytes(99))[: random.randint(2, 99)],
            b"\xff\xfe" + random.randbytes(random.randint(1, 99)),
        ]
    )
    try:
        found = head(content, random.randint(1, 100))
    except UsageError:
        return
    assert all("\n" not in line and "\x00" not in line for line in found.lines)
    assert len(found.lines) <= found.line_count
