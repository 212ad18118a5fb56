"""The transport from Slack: Socket Mode, or signed HTTP requests."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext

from slack_bolt import App, BoltResponse

from bot.config import Secrets, Settings
from bot.errors import ConfigurationError
from bot.slack.answers import Answers
from bot.slack.client import SlackClient
from bot.slack.http import SlackHttp
from bot.slack.incoming import Dispatcher, Hurry
from bot.slack.listeners import bolt_app
from bot.slack.reception import Request, RequestReceiver
from bot.slack.relay import BatchExecutor
from bot.slack.sockets import Sockets
from bot.slack.web_api import WebApi
from bot.threads import EssentialThread

_PATIENCE_SECONDS = 0.02
_TOGETHER = 8


class Transport:
    """Passes requests to the desk, and its replies back.

    `hurry` is entered while a request waits for its acknowledgement. `asgi` is the application for
    /slack/events of the bot's own server, None with Socket Mode.
    """

    def __init__(
        self,
        settings: Settings,
        secrets: Secrets,
        client: SlackClient,
        desk: Dispatcher,
        commands: Sequence[str],
        foreground: Hurry = nullcontext,
    ) -> None:
        self._answers = Answers(client)
        self.asgi: SlackHttp | None = None
        self._sockets: Sockets | None = None
        if settings.slack.transport == "http":
            app = bolt_app(commands, _signing_secret(secrets), desk.channel_changed)
            self._relay = self._made_relay(app, desk, settings)
            self.asgi = SlackHttp(self._relay, foreground)
        else:
            app = bolt_app(commands, None, desk.channel_changed)
            issuer = _issuer(secrets, settings.slack.api_url)
            self._relay = self._made_relay(app, desk, settings)
            self._sockets = Sockets(self._relay, issuer, foreground)

    @property
    def threads(self) -> tuple[EssentialThread, ...]:
        """The essential threads of the transport."""
        keeper = self._sockets.threads if self._sockets is not None else ()
        return (*keeper, *self._relay.threads, *self._answers.threads)

    def start(self) -> None:
        """Starts receiving requests; with HTTP they arrive once `asgi` is served."""
        self._answers.start()
        if self._sockets is not None:
            self._sockets.start()

    def stop(self) -> None:
        """Acknowledges and answers what has arrived, and takes no more."""
        if self._sockets is not None:
            self._sockets.stop()
        if self.asgi is not None:
            self.asgi.stop()
        self._answers.stop()

    @property
    def is_quiet(self) -> bool:
        """Whether no answer is being looked up."""
        return self._answers.is_idle

    def health(self) -> str | None:
        """What keeps requests from arriving, None when nothing does."""
        return self._sockets.health() if self._sockets is not None else None

    def _made_relay(
        self, app: App, desk: Dispatcher, settings: Settings
    ) -> BatchExecutor[Request, BoltResponse]:
        """The threads in which requests are answered.

        With PostgreSQL they wait for the server, so many run at once. With SQLite, requests run one
        at a time; if one blocks, the next starts, and requests queued meanwhile share a commit.
        """
        answers = RequestReceiver(app, desk, self._answers).answers
        if settings.database.url.startswith("sqlite"):
            return BatchExecutor(
                "slack", answers, patience_seconds=_PATIENCE_SECONDS, together=_TOGETHER
            )
        return BatchExecutor("slack", answers)


def _issuer(secrets: Secrets, api_url: str) -> Callable[[], str]:
    """Asks Slack for the address of a new connection, with the app's own token."""
    if secrets.app_token is None:
        raise ConfigurationError(
            "Socket Mode needs an app-level token, but none is set.",
            "Set SLACK_APP_TOKEN (it begins with xapp-), or set slack.transport to http.",
        )
    api = WebApi(secrets.app_token.get_secret_value(), api_url)
    return lambda: str(api.call("apps.connections.open")["url"])


def _signing_secret(secrets: Secrets) -> str:
    if secrets.signing_secret is None:
        raise ConfigurationError(
            "Requests over HTTP cannot be verified without a signing secret.",
            "Set SLACK_SIGNING_SECRET, or set slack.transport to socket.",
        )
    return secrets.signing_secret.get_secret_value()
