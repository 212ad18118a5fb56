"""Secrets with their values; elsewhere the bot only checks that a Secret exists."""

import base64
import binascii
from collections.abc import Mapping

from typing_extensions import override

from bot.cluster.types.objects import ClusterObject


class OpenSecret(ClusterObject, frozen=True, kw_only=True):
    """A Secret with its values, which it does not show by itself."""

    data: Mapping[str, str] = {}

    @override
    def __repr__(self) -> str:
        return f"OpenSecret({self.namespace}/{self.name})"

    def value(self, key: str) -> str | None:
        """The text under a key; None when there is none."""
        try:
            return base64.b64decode(self.data[key]).decode()
        except (KeyError, binascii.Error, UnicodeDecodeError):
            return None
