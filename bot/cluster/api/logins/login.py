"""Who the bot is to a cluster, and tokens that are renewed before they end."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.errors import ClusterError

RETRY_SECONDS = 10.0
CREDENTIALS = "Credentials"


@dataclass(frozen=True)
class Token:
    """A bearer token; its times are seconds since the epoch."""

    word: str = field(repr=False)
    renew_at: float = float("inf")
    ends_at: float = float("inf")


class RenewedToken:
    """Returns a token that is valid, and renews it early; one thread at a time may call it.

    While the old token is valid, a failed renewal is repeated 10 s later and is no error. Without
    a valid token it is a ClusterError, which is returned again for 10 s: threads that wait for
    each other would otherwise run into the same time-out one after the other.
    """

    def __init__(
        self,
        renew: Callable[[], Token],
        first: Token | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._renew = renew
        self._clock = clock
        self._token = first
        self._failure: ClusterError | None = None
        self._retry_at = float("-inf")

    def __call__(self) -> str:
        """The token; ClusterError "Credentials" if there is none."""
        now = self._clock()
        known = self._token
        if known is not None and now < min(known.renew_at, known.ends_at):
            return known.word
        # A clock that was set back does not count as a wait.
        if not 0 < self._retry_at - now <= RETRY_SECONDS:
            known = self._renewed()
        if known is not None and self._failure is None:
            return known.word
        if known is not None and now < known.ends_at:
            return known.word
        failure = self._failure or ClusterError("There is no token.", reason=CREDENTIALS)
        raise ClusterError(failure.message, failure.hint, reason=failure.reason) from failure

    def _renewed(self) -> Token | None:
        try:
            self._token, self._failure = self._renew(), None
        except ClusterError as error:
            # The renewal itself may have taken longer than the pause.
            self._failure, self._retry_at = error, self._clock() + RETRY_SECONDS
        return self._token


@dataclass(frozen=True)
class Login:
    """How the bot tells a cluster who it is."""

    means: str
    """What it shows, for people: "a token for EKS cluster ml, by the bot's own AWS identity"."""

    token: Callable[[], str] | None = field(default=None, repr=False)
    """Returns a bearer token; None if the kubeconfig has all that is needed."""

    principal: Callable[[], str] | None = field(default=None, repr=False)
    """Asks the cloud who the bot is there, as the cluster's own settings name it."""

    remedy: str = (
        "Put the token of the bot's service account in that cluster into the kubeconfig: see"
        " Several clusters in deploy/README.md."
    )
    """What to do if the cluster does not accept it; PRINCIPAL stands for the principal."""

    renew_at: float = float("inf")
    """When the kubeconfig has to be loaded again, in seconds since the epoch."""
