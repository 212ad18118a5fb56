"""Files that were uploaded."""

import mimetypes
from dataclasses import dataclass

from playground.slack.shapes import Json

_PICTURES = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif"}


@dataclass
class File:
    """An uploaded file; it can be shown by a block once `is_complete`, if it is a picture.

    With its `ticket` its content is taken, once. Its `mode` is `external` if another service has
    it. A file with the `access` `check_file_info` is of another company's workspace.
    """

    id: str
    name: str
    length: int
    content: bytes = b""
    title: str = ""
    alt: str = ""
    ticket: str = ""
    is_complete: bool = False
    mode: str = "hosted"
    url: str = ""
    uploader: str = ""
    team: str = ""
    access: str = "visible"
    is_deleted: bool = False

    @property
    def kind(self) -> str | None:
        """The kind of picture that it is, None for any other file."""
        found = (name for start, name in _PICTURES.items() if self.content.startswith(start))
        return next(found, None)

    @property
    def mimetype(self) -> str:
        """What its name says it is."""
        return mimetypes.guess_type(self.name)[0] or "application/octet-stream"

    def as_json(self) -> Json:
        """The file object of a message."""
        if self.is_deleted:
            return {"id": self.id, "mode": "tombstone"}
        if self.access != "visible":
            return {"id": self.id, "mode": "file_access", "file_access": self.access}
        seen: Json = {
            "id": self.id,
            "name": self.name,
            "title": self.title,
            "mimetype": self.mimetype,
            "filetype": self.name.rpartition(".")[2],
            "size": self.length,
            "mode": self.mode,
        }
        if self.uploader:
            is_external = self.mode == "external"
            seen |= {
                "user": self.uploader,
                "user_team": self.team,
                "is_external": is_external,
                "external_type": "gdrive" if is_external else "",
                "file_access": self.access,
            }
        if self.url:
            seen |= {"url_private": self.url, "url_private_download": self.url}
        return seen
