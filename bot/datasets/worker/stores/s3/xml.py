"""Parses and writes the XML of S3: pages of listings, uploads and errors."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote_plus
from xml.etree.ElementTree import Element, ParseError, SubElement, fromstring, tostring

from bot.datasets.manifest import Entry
from bot.datasets.worker.failures import WorkError


@dataclass(frozen=True)
class Page:
    """One page of a listing, and the query for the next page; empty for the last page."""

    entries: list[Entry]
    following: dict[str, str]


def objects_page(body: bytes) -> Page:
    """A page of ListObjectsV2."""
    root = _parsed(body)
    plain = _plain(root)
    entries = [_entry(found, plain, versioned=False) for found in _children(root, "Contents")]
    if _text(root, "IsTruncated") != "true":
        return Page(entries, {})
    token = _text(root, "NextContinuationToken")
    if not token:
        raise _unreadable("it is truncated and does not say how to continue")
    return Page(entries, {"continuation-token": token})


def versions_page(body: bytes) -> Page:
    """A page of ListObjectVersions: the latest version of each key that is not deleted."""
    root = _parsed(body)
    plain = _plain(root)
    entries = [
        _entry(found, plain, versioned=True)
        for found in _children(root, "Version")
        if _text(found, "IsLatest") == "true"
    ]
    if _text(root, "IsTruncated") != "true":
        return Page(entries, {})
    key = plain(_text(root, "NextKeyMarker"))
    if not key:
        raise _unreadable("it is truncated and does not say how to continue")
    version = _text(root, "NextVersionIdMarker")
    return Page(entries, {"key-marker": key, **({"version-id-marker": version} if version else {})})


@dataclass(frozen=True)
class StoredPart:
    """A part of an upload; `checksum` is its SHA-256 in base64, empty if the store keeps none."""

    number: int
    size: int
    etag: str
    checksum: str


def parts_page(body: bytes) -> tuple[list[StoredPart], str]:
    """A page of the parts of an upload, and the marker of the next page; empty for the last."""
    root = _parsed(body)
    parts = [
        StoredPart(
            int(_text(found, "PartNumber")),
            int(_text(found, "Size")),
            _text(found, "ETag"),
            _text(found, "ChecksumSHA256"),
        )
        for found in _children(root, "Part")
    ]
    is_cut = _text(root, "IsTruncated") == "true"
    return parts, _text(root, "NextPartNumberMarker") if is_cut else ""


def versioning(body: bytes) -> str:
    """Enabled, Suspended, or empty for a bucket that never was versioned."""
    return _text(_parsed(body), "Status")


def unfinished_uploads(body: bytes) -> Iterator[tuple[str, str]]:
    """The key and id of each unfinished multipart upload."""
    root = _parsed(body)
    plain = _plain(root)
    for found in _children(root, "Upload"):
        yield plain(_text(found, "Key")), _text(found, "UploadId")


def upload_id(body: bytes) -> str:
    """The id of a multipart upload that was started."""
    return _text(_parsed(body), "UploadId")


def etag_of(body: bytes) -> str:
    """The ETag of an object assembled from parts."""
    return _text(_parsed(body), "ETag").strip('"')


def put_together(parts: Iterable[tuple[str, str]]) -> bytes:
    """The request to assemble parts, each with its ETag, and its SHA-256 if the store keeps it."""
    root = Element("CompleteMultipartUpload", xmlns="http://s3.amazonaws.com/doc/2006-03-01/")
    for number, (etag, checksum) in enumerate(parts, 1):
        part = SubElement(root, "Part")
        for name, text in (
            ("ChecksumSHA256", checksum),
            ("ETag", etag),
            ("PartNumber", str(number)),
        ):
            if text:
                SubElement(part, name).text = text
    return tostring(root)


def error_code(body: bytes) -> str:
    """The S3 error code in an answer; empty without one."""
    try:
        return _text(fromstring(body), "Code")  # noqa: S314  # see _parsed
    except ParseError:
        return ""


def _parsed(body: bytes) -> Element:
    # expat rejects expanding entities, and the store is trusted with the data anyway.
    try:
        return fromstring(body)  # noqa: S314
    except ParseError as error:
        raise _unreadable(str(error)) from error


def _unreadable(why: str) -> WorkError:
    return WorkError(
        "wrong_input",
        f"The store's listing cannot be read: {why}.",
        "Check that the endpoint in the store's settings is an S3 API.",
    )


def _plain(root: Element) -> Callable[[str], str]:
    """The decoder of this store's keys; not every store encodes them on request."""
    return unquote_plus if _text(root, "EncodingType") == "url" else str


def _entry(found: Element, plain: Callable[[str], str], *, versioned: bool) -> Entry:
    texts = {child.tag.rpartition("}")[2]: child.text or "" for child in found}
    etag = texts.get("ETag", "").strip('"')
    version = texts.get("VersionId") if versioned else None
    return Entry(plain(texts["Key"]), int(texts["Size"]), etag, version)


def _children(root: Element, name: str) -> Iterator[Element]:
    return (child for child in root if child.tag.rpartition("}")[2] == name)


def _text(parent: Element, name: str) -> str:
    return next((child.text or "" for child in _children(parent, name)), "")
