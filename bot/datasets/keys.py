"""Reads keys for Amazon's and compatible services from files in a folder."""

from pathlib import Path
from typing import Any

from bot.errors import StorageError

_KEYS = {
    "access-key-id": "aws_access_key_id",
    "secret-access-key": "aws_secret_access_key",
    "session-token": "aws_session_token",
}


def read_keys(folder: str | None, whose: str, setting: str) -> dict[str, Any]:
    """The keys as arguments of boto3; empty without a folder. StorageError if unreadable.

    `setting` names the folder in quartermaster.yaml.
    """
    if folder is None:
        return {}
    place = Path(folder)
    try:
        return {
            word: (place / file).read_text(encoding="utf-8").strip()
            for file, word in _KEYS.items()
            if file != "session-token" or (place / file).exists()
        }
    except OSError as error:
        raise StorageError(
            f"The keys of {whose} cannot be read: {error.strerror}.",
            f"{setting} must name a folder with the files access-key-id and secret-access-key.",
        ) from error
