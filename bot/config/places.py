"""Places in object stores, s3://bucket/folder/, that mean the same to every store and client."""

import re
import unicodedata
from urllib.parse import unquote

# By the type of a store, how addresses in it begin.
SCHEMES = {"s3": "s3://", "gcs": "gs://"}
S3_BUCKET = r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"
BUCKET = rf"(?:{S3_BUCKET}|gs://[a-z0-9][a-z0-9._-]{{1,61}}[a-z0-9])"
SHAPE = re.compile(BUCKET + r"(?:/[^\s?*#\\]{0,900})?")
WORDS = "a bucket and a folder in it, like s3://lake/team-a/, without `.`, `..` or `//`"


def is_place(url: str) -> bool:
    """Whether a place means the same to every store, client and reader.

    S3 takes keys literally. Other stores fold `//` or reject `..`, proxies decode `%2e`, and some
    characters look the same on a screen, so none of these are allowed in a place.
    """
    if not SHAPE.fullmatch(url):
        return False
    folders = _folders(url)
    read = [_folders(each) for each in _readings(url)]
    return all(len(each) == len(folders) and _is_plain(each) for each in read)


def _folders(url: str) -> list[str]:
    return url.split("/")[3:]


def _readings(url: str) -> list[str]:
    """The place as written, and as clients that decode or normalize it may read it."""
    found = [url]
    while (decoded := unquote(found[-1])) != found[-1]:
        found.append(decoded)
    return [*found, *(unicodedata.normalize("NFKC", each) for each in found)]


def _is_plain(folders: list[str]) -> bool:
    *inner, last = folders or [""]
    names = [*inner, last] if last else inner
    return all(name not in {"", ".", ".."} and name.isprintable() for name in names)
