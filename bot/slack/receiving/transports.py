"""The transport from Slack: Socket Mode, or signed HTTP requests."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

from slack_bolt import BoltResponse

from bot.config import Secrets, Settings
from bot.errors import ConfigurationError
from bot.slack.receiving.answers import Answers
from bot.slack.receiving.http import SlackHttp
from bot.slack.receiving.incoming import Foreground, HomeDispatcher
from bot.slack.receiving.listeners import bolt_app
from bot.slack.receiving.reception import MakeRequest, RequestReceiver
from bot.slack.receiving.sockets import Sockets
from bot.slack.web_api import WebApi
from bot.threads import EssentialThread, Workers

# Twice what shares a commit. With 4, submissions on 64 connections took up to twice as long.
_THREADS = 16
_LONGEST_REQUEST_SECONDS = 120.0


class Transport:
    """Passes requests to the dispatcher, and its replies back.

    `foreground` is entered while a request waits for its acknowledgement. `asgi` is the
    application for /slack/events of the bot's own server, None with Socket Mode.
    """

    def __init__(
        self,
        settings: Settings,
        secrets: Secrets,
        answers: Answers,
        dispatcher: HomeDispatcher,
        commands: Sequence[str],
        foreground: Foreground = nullcontext,
    ) -> None:
        self._answers = answers
        self.asgi: SlackHttp | None = None
        self._sockets: Sockets | None = None
        self._settings, self._dispatcher, self._commands = settings, dispatcher, commands
        self._receiver = self._receiver_with(secrets)
        self._workers = Workers("slack", _THREADS, limit_seconds=_LONGEST_REQUEST_SECONDS)
        self._issuer: WebApi | None = None
        if settings.slack.transport == "http":
            self.asgi = SlackHttp(self._workers, self._answer, foreground)
        else:
            issuer = self._issuer = WebApi(_app_token(secrets), settings.slack.api_url)
            self._sockets = Sockets(
                self._workers, self._answer, partial(_issued, issuer), foreground
            )

    @property
    def threads(self) -> tuple[EssentialThread, ...]:
        """The essential threads of the transport."""
        keeper = self._sockets.threads if self._sockets is not None else ()
        return (*keeper, *self._workers.threads, *self._answers.threads)

    def start(self) -> None:
        """Starts receiving requests; with HTTP they arrive once `asgi` is served."""
        self._answers.start()
        self._workers.start()
        if self._sockets is not None:
            self._sockets.start()

    def stop(self) -> None:
        """Acknowledges and answers what has arrived, and takes no more."""
        if self._sockets is not None:
            self._sockets.stop()
        if self.asgi is not None:
            self.asgi.stop()
        self._answers.stop()

    def renew(self, secrets: Secrets) -> None:
        """Verifies requests, or opens further connections, with other secrets.

        Connections stay open until Slack closes them, as it does when it revokes their token.
        """
        if self._issuer is not None:
            self._issuer.renew(_app_token(secrets))
        else:
            self._receiver = self._receiver_with(secrets)

    @property
    def is_quiet(self) -> bool:
        """Whether no answer is being looked up."""
        return self._answers.is_idle

    def health(self) -> str | None:
        """What keeps requests from arriving, None when nothing does."""
        return self._sockets.health() if self._sockets is not None else None

    def _receiver_with(self, secrets: Secrets) -> RequestReceiver:
        """What verifies and answers requests; those of Socket Mode need no verification."""
        settings, dispatcher = self._settings, self._dispatcher
        app = bolt_app(
            self._commands,
            _signing_secret(secrets) if settings.slack.transport == "http" else None,
            {settings.workspace, settings.slack.organisation or settings.workspace},
            dispatcher.channel_changed,
            dispatcher.bot_joined,
            dispatcher.home_opened,
            step_begun=dispatcher.step_begun,
        )
        return RequestReceiver(app, dispatcher, self._answers)

    def _answer(self, make: MakeRequest) -> BoltResponse:
        return self._receiver.answer(make)


def _issued(issuer: WebApi) -> str:
    """The address of a new connection, for which Slack is asked with the app's own token."""
    return str(issuer.call("apps.connections.open")["url"])


def _app_token(secrets: Secrets) -> str:
    if secrets.app_token is None:
        raise ConfigurationError(
            "Socket Mode needs an app-level token, but none is set.",
            "Set SLACK_APP_TOKEN (it begins with xapp-), or set slack.transport to http.",
        )
    return secrets.app_token.get_secret_value()


def _signing_secret(secrets: Secrets) -> str:
    if secrets.signing_secret is None:
        raise ConfigurationError(
            "Requests over HTTP cannot be verified without a signing secret.",
            "Set SLACK_SIGNING_SECRET, or set slack.transport to socket.",
        )
    return secrets.signing_secret.get_secret_value()
