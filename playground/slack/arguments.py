"""The arguments of a Web API call, from a query, a form or a JSON body."""

import json
from typing import Any
from urllib.parse import parse_qsl

from playground.slack.errors import SlackError
from playground.slack.shapes import Json


class Arguments:
    """Typed access to what the bot sent; what is missing or malformed raises SlackError."""

    def __init__(self, values: Json) -> None:
        self.values = values

    @classmethod
    def read(cls, query: bytes, content_type: str, body: bytes) -> "Arguments":
        """Reads a request in any of the encodings Slack takes."""
        values: Json = dict(parse_qsl(query.decode(), keep_blank_values=True))
        if content_type.startswith("application/json"):
            values |= _json_object(body)
        elif content_type.startswith("application/x-www-form-urlencoded"):
            values |= dict(parse_qsl(body.decode(), keep_blank_values=True))
        return cls(values)

    def text(self, name: str) -> str | None:
        """A text, or None when it is absent or empty."""
        value = self.values.get(name)
        return None if value in (None, "") else str(value)

    def need(self, name: str) -> str:
        """A text that must be there."""
        value = self.text(name)
        if value is None:
            said = f"[ERROR] missing required field: {name}"
            raise SlackError("invalid_arguments", response_metadata={"messages": [said]})
        return value

    def flag(self, name: str) -> bool:
        """True or false, as JSON or as text; false when absent."""
        return str(self.values.get(name, "")).lower() in ("true", "1")

    def integer(self, name: str, default: int, maximum: int) -> int:
        """A whole number from 1 to `maximum`."""
        value = str(self.values.get(name, default))
        if not value.isdigit() or not 1 <= int(value) <= maximum:
            raise SlackError("invalid_limit")
        return int(value)

    def json(self, name: str, wrong: str) -> Any:
        """A JSON value, given as such or as text; None when absent, `wrong` when unreadable."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except ValueError:
            raise SlackError(wrong) from None


def _json_object(body: bytes) -> Json:
    try:
        value = json.loads(body or b"{}")
    except ValueError:
        raise SlackError("invalid_json") from None
    if not isinstance(value, dict):
        raise SlackError("json_not_object")
    return value
