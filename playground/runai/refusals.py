"""How Run:ai's REST API says no: `{code, message}` with the HTTP status as code."""

from typing import Any


class RunaiRefusalError(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message

    @property
    def body(self) -> dict[str, Any]:
        """The answer's body."""
        return {"code": self.status, "message": self.message}


def bad_request(message: str) -> RunaiRefusalError:
    """A request that does not fit the documentation."""
    return RunaiRefusalError(400, message)


def taken(what: str) -> RunaiRefusalError:
    """Something of that name is there already."""
    return RunaiRefusalError(409, f"{what} already exists")


def missing(what: str) -> RunaiRefusalError:
    """Something that is not there."""
    return RunaiRefusalError(404, f"{what} was not found")
