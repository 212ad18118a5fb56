"""What can go wrong, as sentences that are safe to show.

```
QuartermasterError(message, hint)    a sentence, and what to do next
+-- UserError                        the person can mend it; shown to them alone
|     UsageError  NotFoundError  ConflictError  NotAllowedError  LimitError
+-- OutsideError                     something outside failed: what was tried, what it said
      ClusterError  StorageError  ChatError  DatabaseError  MetricsError
```
"""

from bot.masking import hide_secrets, without_mentions


class QuartermasterError(Exception):
    """A failure with a sentence for the person and, in `hint`, what to do next."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UserError(QuartermasterError):
    """An error that the person who asked can fix."""


class UsageError(UserError):
    """The command could not be parsed."""


class LackingError(UsageError):
    """The command lacks a parameter that neither the settings nor a preset provide."""

    def __init__(self, parameter: str, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.parameter = parameter


class NotFoundError(UserError):
    """The named object does not exist, or the person may not see it."""


class ConflictError(UserError):
    """It exists already, or is in a state that does not allow this."""


class NotAllowedError(UserError):
    """This person may not do this here."""


class LimitError(UserError):
    """More than the team or the service allows."""


class ConfigurationError(UserError):
    """The configuration file cannot be used; the message names the line."""


class OutsideError(QuartermasterError):
    """An external service failed; the message says what was tried and what it returned.

    Secrets in it are hidden and mentions are disabled; the hint is our own text.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(without_mentions(hide_secrets(message)), hide_secrets(hint))


class ClusterError(OutsideError):
    """A Kubernetes API request failed.

    `status` is the HTTP status, None without a response; `reason` is that of Kubernetes (NotFound,
    AlreadyExists, Conflict, Invalid), or Timeout or Unreachable. A 403 is Forbidden if the bot
    lacks a right, OverQuota if a ResourceQuota is exhausted, and Denied if a policy of the cluster
    rejects the object. A creation in a namespace that does not exist is NamespaceMissing.
    """

    def __init__(
        self, message: str, hint: str = "", *, status: int | None = None, reason: str = ""
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.reason = reason

    @property
    def is_final(self) -> bool:
        """Whether the same request would be refused again: the object itself may not be so."""
        return self.reason in {"Invalid", "BadRequest", "Denied", "NamespaceTerminating"}


class StorageError(OutsideError):
    """A request to an object store or a storage provider failed.

    `status` is the HTTP status, None without a response; `code` is the server's own code;
    `retry_after_seconds` is how long it asked us to wait.
    """

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        status: int | None = None,
        code: str = "",
        retry_after_seconds: float = 0.0,
    ) -> None:
        super().__init__(message, hint)
        self.status = status
        self.code = code
        self.retry_after_seconds = retry_after_seconds


class ChatError(OutsideError):
    """A Slack request failed.

    `code` is Slack's own word (channel_not_found, ratelimited), or unreachable;
    `retry_after_seconds` is how long Slack asked us to wait, `detail` what it said of blocks.
    """

    def __init__(
        self,
        message: str,
        hint: str = "",
        *,
        code: str = "",
        retry_after_seconds: float = 0.0,
        detail: str = "",
    ) -> None:
        super().__init__(message, hint)
        self.code = code
        self.retry_after_seconds = retry_after_seconds
        self.detail = detail


class DatabaseError(OutsideError):
    """A database request failed, or the schema does not fit this version."""


class MetricsError(OutsideError):
    """A source of GPU metrics failed; `retry_after_seconds` is how long to wait."""

    def __init__(self, message: str, hint: str = "", *, retry_after_seconds: float = 0.0) -> None:
        super().__init__(message, hint)
        self.retry_after_seconds = retry_after_seconds


class TrackingError(OutsideError):
    """A request to an experiment tracker failed; `code` is the server's own word for why."""

    def __init__(self, message: str, hint: str = "", *, code: str = "") -> None:
        super().__init__(message, hint)
        self.code = code
