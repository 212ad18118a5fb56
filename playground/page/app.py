"""The page as an ASGI application: its files, the stream of what is new, and what people do."""

import asyncio
import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs

from playground import scenarios
from playground.control.api import Control
from playground.control.web import CONFLICT, Request, Response, WebError, application
from playground.loopback import Receive, Scope, Send
from playground.page.acts import act, text
from playground.page.gate import Gate, respond
from playground.page.outside import outside
from playground.page.seen import Event, Seen, file_of
from playground.page.stage import Stage
from playground.slack.files import File
from playground.story.scenario import Scenario
from playground.world import World

_FILES = Path(__file__).parent / "static"
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_NOT_FOUND = 404
_WAIT_SECONDS, _TOGETHER_SECONDS = 2.0, 0.03


class Page:
    """Serves one stage; `path` is the secret part of its address."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        token = secrets.token_urlsafe(16)
        self.path = f"/{token}/"
        self.app = Gate(self._answer, token)
        self._acts = application(self._act)
        self._streams: set[asyncio.Task[None]] = set()
        self._files = {
            path.relative_to(_FILES).as_posix(): (_KINDS[path.suffix], path.read_bytes())
            for path in _FILES.rglob("*.*")
        }

    async def close(self) -> None:
        """Ends the streams, so that their server can end."""
        for stream in self._streams:
            stream.cancel()
        await asyncio.gather(*self._streams, return_exceptions=True)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, query = scope["path"].lstrip("/"), parse_qs(scope["query_string"].decode())
        who = query.get("as", [""])[0]
        if scope["method"] == "POST":
            await self._acts(scope, receive, send)
        elif (path or "index.html") in self._files:
            kind, content = self._files[path or "index.html"]
            await respond(send, 200, content, kind)
        elif path == "events":
            stream = asyncio.ensure_future(self._stream(who, receive, send))
            self._streams.add(stream)
            stream.add_done_callback(self._streams.discard)
            await asyncio.wait({stream})
        elif path.startswith("files/") and (file := self._file(who, path)) is not None:
            is_picture = file.kind is not None
            kind = f"image/{file.kind}" if is_picture else "application/octet-stream"
            await respond(send, 200, file.content, kind)
        else:
            await respond(send, _NOT_FOUND, "There is nothing here.\n")

    async def _act(self, request: Request) -> Response:
        part, _, rest = request.path.strip("/").partition("/")
        if part == "stories":
            return self._tell(rest, request)
        world = self._world()
        if part == "acts":
            return await act(world.slack, request)
        if part == "world":
            asked = Request(request.method, f"/{rest}", request.query, request.body)
            return await Control(world).answer(asked)
        raise WebError(f"there is no {request.path}", _NOT_FOUND)

    def _tell(self, verb: str, request: Request) -> Response:
        """Begins a story or a fresh world, and turns its pages."""
        stage, reading = self._stage, self._stage.reading
        turns: dict[str, Callable[[], None]] = {}
        if reading is not None:
            turns = {
                "pause": reading.pause,
                "resume": reading.resume,
                "next": reading.skip,
                "stop": stage.stop_story,
            }
        if verb == "begin":
            stage.begin()
        elif verb == "play":
            stage.begin(_scenario(text(request.body, "name")))
        elif verb in turns:
            turns[verb]()
        else:
            raise WebError(f"no story is played that could {verb}", CONFLICT)
        return Response({})

    def _world(self) -> World:
        if self._stage.world is None:
            raise WebError("The world is being set up. Try again in a moment.", CONFLICT)
        return self._stage.world

    def _file(self, who: str, path: str) -> File | None:
        slack = self._world().slack
        is_person = who in slack.users and not slack.users[who].is_bot
        return file_of(slack, who, path.removeprefix("files/")) if is_person else None

    async def _stream(self, who: str, receive: Receive, send: Send) -> None:
        """Sends what is new for one person until their browser goes away."""
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        gone = waiting = asyncio.ensure_future(_gone(receive))
        telling = _Telling(self._stage, who)
        try:
            while not gone.done():
                for name, value in telling.news():
                    line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
                    body = f"event: {name}\ndata: {line}\n\n".encode()
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                waiting = asyncio.ensure_future(self._next_change())
                await asyncio.wait({gone, waiting}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
        finally:
            gone.cancel()
            waiting.cancel()

    async def _next_change(self) -> None:
        """The next change, together with those that come right after it."""
        await self._stage.wait(_WAIT_SECONDS)
        await asyncio.sleep(_TOGETHER_SECONDS)


class _Telling:
    """What one stream has told; it begins again with each world."""

    def __init__(self, stage: Stage, who: str) -> None:
        self._stage = stage
        self._who = who
        self._world: World | None = None
        self._seen: Seen | None = None
        self._told: dict[str, str] = {}

    def news(self) -> Iterator[Event]:
        """What is new."""
        world = self._stage.world
        if world is not self._world:
            self._world, self._told = world, {}
            users = world.slack.users if world is not None else {}
            is_person = self._who in users and not users[self._who].is_bot
            self._seen = Seen(world.slack, self._who) if world is not None and is_person else None
            yield "begin", {"turn": str(self._stage.turn) if world is not None else ""}
        yield from self._whole("story", self._stage.stories())
        if world is not None:
            yield from self._whole("clock", {"offset": world.clock.offset.total_seconds()})
        yield from self._seen.news() if self._seen is not None else ()
        yield from self._whole("outside", outside(self._stage))

    def _whole(self, name: str, value: dict[str, object]) -> Iterator[Event]:
        written = json.dumps(value, sort_keys=True)
        if self._told.get(name) != written:
            self._told[name] = written
            yield name, value


def _scenario(name: str) -> Scenario:
    try:
        return scenarios.named(name)
    except LookupError as error:
        raise WebError(f"{error}", _NOT_FOUND) from None


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
