"""How FSx says no: the codes of its service model, each with its status."""

from typing import Any


class FsxRefusalError(Exception):
    """An answer that is an error; `more` are members of its shape besides the message."""

    def __init__(self, code: str, message: str, status: int = 400, **more: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.more = more

    @property
    def body(self) -> dict[str, Any]:
        """The answer's body, as AWS JSON 1.1 writes it."""
        return {"__type": self.code, "Message": self.message, **self.more}


def bad_request(message: str) -> FsxRefusalError:
    """What cannot be right however often it is asked."""
    return FsxRefusalError("BadRequest", message)
