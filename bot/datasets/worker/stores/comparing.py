"""How a file is found to be an object of a store."""

import re
from typing import Literal

from typing_extensions import Buffer

from bot.datasets.manifest import Entry
from bot.datasets.worker.checksums import new_md5

Kind = Literal["md5", "checksum", "size"]
"""By the MD5 of the content, another checksum that the store keeps, or the size alone."""

_MD5 = re.compile(r"[0-9a-f]{32}")


def has_md5(entry: Entry) -> bool:
    """Whether the ETag has the form of an MD5; those of multipart uploads end in -N."""
    return _MD5.fullmatch(entry.etag) is not None


def md5(data: Buffer) -> str:
    """The MD5 of a whole object, as ETags have it."""
    digest = new_md5()
    digest.update(data)
    return digest.hexdigest()
