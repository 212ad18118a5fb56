"""Small bots built with Slack's own libraries, to meet the workspace as a real bot does."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from slack_bolt import App, BoltRequest
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_bolt.authorization import AuthorizeResult
from slack_sdk import WebClient
from typing_extensions import override

from playground.slack.delivery import RequestUrls
from tests.playground.slack.served import Served


def bolt_app(slack: Served) -> App:
    """A Bolt app of this workspace that answers before its handlers return."""
    credentials = slack.workspace.credentials

    def authorize(client: WebClient) -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None,
            team_id="T0QM",
            bot_user_id="U0QM",
            bot_token=client.token or credentials.bot_token,
        )

    return App(
        client=WebClient(credentials.bot_token, base_url=slack.api),
        signing_secret=credentials.signing_secret,
        authorize=authorize,
        process_before_response=True,
    )


@contextlib.contextmanager
def through_sockets(slack: Served, app: App, sockets: int = 1) -> Iterator[None]:
    """Connects the app through Socket Mode until the block ends."""
    token = slack.workspace.credentials.app_token
    client = WebClient(token, base_url=slack.api)
    handlers = [SocketModeHandler(app, token, web_client=client) for _ in range(sockets)]
    try:
        for handler in handlers:
            handler.client.connect()
        slack.until(lambda: len(slack.workspace.sockets.open) == sockets)
        yield
    finally:
        for handler in handlers:
            handler.client.close()


@contextlib.contextmanager
def over_http(slack: Served, app: App) -> Iterator[None]:
    """Serves the app at request URLs until the block ends."""

    def answer(request: Incoming) -> tuple[int, str, dict[str, str]]:
        response = app.dispatch(BoltRequest(body=request.body, headers={**request.headers}))
        return response.status, response.body, response.first_headers_without_set_cookie()

    with listening(slack, answer):
        yield


class Incoming:
    """One request that reached a listener."""

    def __init__(self, headers: dict[str, str], body: str) -> None:
        self.headers = headers
        self.body = body

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


Answerer = Callable[[Incoming], tuple[int, str, dict[str, str]]]


@contextlib.contextmanager
def listening(slack: Served, answer: Answerer) -> Iterator[list[Incoming]]:
    """Takes signed requests with the given answers; yields what has arrived."""
    arrived: list[Incoming] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            request = Incoming({k.lower(): v for k, v in self.headers.items()}, body)
            arrived.append(request)
            slack.call(slack.workspace.changed)
            status, text, headers = answer(request)
            with contextlib.suppress(OSError):  # the workspace may have stopped waiting
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

        @override
        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    slack.workspace.courier.urls = RequestUrls(f"{url}/c", f"{url}/i", f"{url}/e")
    try:
        yield arrived
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
