"""The control API: acting as a person, moving time and breaking things, by HTTP."""

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

from playground.cluster.control.training import Training
from playground.cluster.operators.catalogue import OPERATORS
from playground.control.web import CONFLICT, NOT_FOUND, Request, Response, WebError, application
from playground.ledger import Fault
from playground.pace import ImpatientError
from playground.prometheus.service import Prometheus
from playground.slack.errors import PersonError
from playground.slack.faults import Down
from playground.slack.page import page
from playground.slack.people import Message
from playground.spelling import closest
from playground.world import World

USAGE = """Act by HTTP, for example with curl -d '{...}' (JSON in, JSON out):
  POST /say {"person": "Alice", "channel": "#team-a", "text": "/train list"}
       a text without a slash is a mention of @Quartermaster
  POST /drop {"person": "Alice", "channel": "#team-a", "files": {"labels.csv": "a,b"}}
       a message with these files, whose contents are text
  POST /click {"person": "Carol", "channel": "#gpu-approvals", "label": "Approve"}
       "confirm": true if a button asks first; "message": "lane" chooses the message
  GET  /channels, GET /channels/team-a?as=Alice
  GET  /page                           all channels as one HTML page
  POST /clock {"forward": "3d"}        moves the time, event by event
  POST /bot {"do": "kill"}             kill, stop or start
  POST /fault {"name": "chat.postMessage", "fault": "lose-answer"}
       kill-before, kill-after, lose-answer or refuse; "number": 7 instead of a name
  POST /slack {"is": "down"}           down or up
  POST /cluster {"is": "down"}         down or up; "name" of one, else all
  POST /again {}                       Slack delivers the last act to the bot once more
  PUT  /behaviour {"image": "ghcr.io/acme/lane", "seconds_per_epoch": 5}
  POST /install {"operator": "mpi-operator"}
       jobset, mpi-operator, trainer or training-operator
  POST /nature {"do": "lose_node", "name": "gpu-1"}
       find_node; evict or preempt {"namespace", "pod"} ("by" a uid); break_mount {"claim", "words"}
       or mend_mount; break_provisioner {"storage_class", "words"} or mend_provisioner
  POST /gpus {"run": "nb", "busy": [0.9, 0]}
       the share of the time they are busy; {"node": "gpu-1", "gpu": 3, "xid": 79} breaks one
  POST /prometheus {"is": "down"}      down or up
  GET  /requests                       requests that the bot sent
"""
_CLOCK_WAIT_SECONDS = 20.0
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
Answer = Callable[[Request], Awaitable[Response]]


class Control:
    """Answers the control API of one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._routes: Mapping[str, Answer] = {
            "GET /": self._usage,
            "GET /clock": self._clock,
            "POST /clock": self._forward,
            "POST /say": self._say,
            "POST /drop": self._drop,
            "POST /click": self._click,
            "GET /channels": self._channels,
            "GET /page": self._page,
            "POST /bot": self._bot,
            "POST /fault": self._fault,
            "POST /slack": self._slack,
            "POST /cluster": self._cluster,
            "POST /again": self._again,
            "PUT /behaviour": self._behaviour,
            "POST /install": self._install,
            "POST /nature": self._nature,
            "POST /gpus": self._gpus,
            "POST /prometheus": self._prometheus,
            "GET /requests": self._requests,
        }
        self.app = application(self.answer)

    async def answer(self, request: Request) -> Response:
        """The answer to one request; WebError says what is wrong with it."""
        first = "/" + request.path.strip("/").partition("/")[0]
        route = f"{request.method} {first}"
        if route not in self._routes:
            raise WebError(f"there is no route {route}{closest(route, self._routes)}", NOT_FOUND)
        try:
            return await self._routes[route](request)
        except (PersonError, ImpatientError) as error:
            raise WebError(str(error), CONFLICT) from None

    async def _usage(self, _request: Request) -> Response:
        return Response(USAGE)

    async def _clock(self, request: Request) -> Response:
        try:
            known = timedelta(seconds=float(request.query.get("after", "-1")))
        except ValueError:
            raise WebError("after must be a number of seconds") from None
        offset = await self._world.clock.offset_after(known, _CLOCK_WAIT_SECONDS)
        return Response({"offset_seconds": offset.total_seconds()})

    async def _forward(self, request: Request) -> Response:
        ahead = duration(_text(request, "forward"))
        if any(bot.is_running for bot in self._world.bots):
            await self._world.pass_time(ahead)
        else:  # no bot says when nothing is left to do
            await self._world.jump(ahead)
        return Response({"now": self._world.clock.now().isoformat()})

    async def _say(self, request: Request) -> Response:
        user, channel = (
            self._user(_text(request, "person")),
            self._channel(_text(request, "channel")),
        )
        text = _text(request, "text")
        if not text.startswith("/"):
            message = await self._world.slack.mention(user, channel, text)
            return Response({"said": message.text, "ts": message.ts})
        shown = await self._world.slack.slash(user, channel, text)
        return Response({"shown": [self._world.slack.text_of(each) for each in shown]})

    async def _drop(self, request: Request) -> Response:
        user = self._user(_text(request, "person"))
        channel, files = self._channel(_text(request, "channel")), request.body.get("files")
        if not isinstance(files, dict) or not all(isinstance(e, str) for e in files.values()):
            raise WebError('"files" must be an object of texts by the name of the file')
        given = [(name, content.encode()) for name, content in files.items()]
        message = await self._world.slack.drop(user, channel, given)
        return Response({"ts": message.ts})

    async def _click(self, request: Request) -> Response:
        user, channel = (
            self._user(_text(request, "person")),
            self._channel(_text(request, "channel")),
        )
        label = _text(request, "label")
        message = self._message(user, channel, label, str(request.body.get("message", "")))
        confirm = request.body.get("confirm") is True
        dialog = await self._world.slack.click(user, message, label, confirm=confirm)
        return Response({"clicked": label, "dialog": dialog})

    async def _channels(self, request: Request) -> Response:
        slack = self._world.slack
        name = request.path.strip("/").partition("/")[2]
        if not name:
            return Response({"channels": [f"#{c.name}" for c in slack.channels.values()]})
        user = self._user(request.query.get("as", "Alice"))
        seen = slack.visible(user, self._channel(name))
        return Response({"messages": [self._shown(message) for message in seen]})

    async def _page(self, _request: Request) -> Response:
        return Response(page(self._world.slack, "Quartermaster in Slack"), kind="text/html")

    async def _bot(self, request: Request) -> Response:
        bot = self._world.bot
        acts = {"kill": bot.kill, "start": bot.start, "stop": bot.stop}
        what = _text(request, "do")
        if what not in acts:
            raise WebError(f"the bot cannot {what}{closest(what, acts)}")
        await acts[what]()
        return Response({"running": bot.is_running, "pid": bot.pid})

    async def _fault(self, request: Request) -> Response:
        named = _text(request, "fault")
        faults = {str(fault): fault for fault in Fault}
        if named not in faults:
            raise WebError(f"there is no fault {named}{closest(named, faults)}")
        ledger = self._world.ledger
        number = request.body.get("number")
        if isinstance(number, int):
            ledger.by_number[number] = faults[named]
        else:
            ledger.by_name.setdefault(_text(request, "name"), []).append(faults[named])
        return Response({"waiting": named})

    async def _slack(self, request: Request) -> Response:
        state = _text(request, "is")
        if state not in {"down", "up"}:
            raise WebError(f"Slack cannot be {state}{closest(state, ['down', 'up'])}")
        if state == "down":
            self._world.slack.go_down(Down.UNAVAILABLE)
        else:
            self._world.slack.come_up()
        return Response({"slack": state})

    async def _cluster(self, request: Request) -> Response:
        state, clusters = _text(request, "is"), self._world.clusters
        name = request.body.get("name")
        if state not in {"down", "up"}:
            raise WebError(f"a cluster cannot be {state}{closest(state, ['down', 'up'])}")
        if name is not None and name not in clusters:
            known = closest(str(name), clusters)
            raise WebError(f"there is no cluster {name}{known}", NOT_FOUND)
        for each in (clusters[name],) if name else clusters.values():
            if state == "down":
                each.go_down()
            elif each.is_down:
                await each.come_up()
        self._world.changes.ring()
        return Response({"cluster": state})

    async def _again(self, _request: Request) -> Response:
        return Response({"delivered": await self._world.slack.again()})

    async def _behaviour(self, request: Request) -> Response:
        image = _text(request, "image")
        fields = {key: value for key, value in request.body.items() if key != "image"}
        try:
            self._world.cluster.behaviours[image] = Training(**fields)
        except TypeError as error:
            raise WebError(f"runs cannot behave like this: {error}") from None
        return Response({"image": image, **fields})

    async def _install(self, request: Request) -> Response:
        operator = _text(request, "operator")
        if operator not in OPERATORS:
            known = closest(operator, OPERATORS)
            raise WebError(f"there is no operator {operator}{known}", NOT_FOUND)
        self._world.cluster.install(operator)
        return Response({"installed": operator})

    async def _nature(self, request: Request) -> Response:
        nature, what = self._world.cluster.nature, _text(request, "do")
        acts = {name: getattr(nature, name) for name in dir(nature) if not name.startswith("_")}
        if what not in acts:
            raise WebError(f"nature cannot {what}{closest(what, acts)}")
        words = {key: value for key, value in request.body.items() if key != "do"}
        try:
            acts[what](**words)
        except TypeError as error:
            raise WebError(f"nature does not work like this: {error}") from None
        return Response({"done": what, **words})

    async def _gpus(self, request: Request) -> Response:
        metrics = self._metrics()
        try:
            if "run" in request.body:
                metrics.work(_text(request, "run"), *_shares(request))
            else:
                gpu, xid = (int(request.body.get(each, -1)) for each in ("gpu", "xid"))
                metrics.fail(_text(request, "node"), gpu, xid)
        except LookupError as error:
            raise WebError(f"{error}", NOT_FOUND) from None
        return Response(request.body)

    async def _prometheus(self, request: Request) -> Response:
        metrics, state = self._metrics(), _text(request, "is")
        if state not in {"down", "up"}:
            raise WebError(f"Prometheus cannot be {state}{closest(state, ['down', 'up'])}")
        (metrics.go_down if state == "down" else metrics.come_back)()
        return Response({"prometheus": state})

    def _metrics(self) -> Prometheus:
        if self._world.metrics is None:
            raise WebError("this world has no Prometheus", NOT_FOUND)
        return next(iter(self._world.metrics.of.values()))

    async def _requests(self, _request: Request) -> Response:
        rows = self._world.ledger.requests
        listed = [{"number": r.number, "service": r.service, "name": r.name, "about": r.about}
                  for r in rows]  # fmt: skip
        return Response({"requests": listed})

    def _user(self, name: str) -> str:
        slack = self._world.slack
        named = {slack.name_of(user).lower(): user for user in slack.users}
        named |= {user.lower(): user for user in slack.users}
        if name.lower() not in named:
            people = [slack.name_of(user) for user in slack.users]
            raise WebError(f"there is no person {name}{closest(name, people)}", NOT_FOUND)
        return named[name.lower()]

    def _channel(self, name: str) -> str:
        channels = self._world.slack.channels
        named = {channel.name: channel.id for channel in channels.values()}
        bare = name.removeprefix("#").removeprefix("@")
        if bare in channels:
            return bare
        if bare not in named:
            raise WebError(f"there is no channel {name}{closest(bare, named)}", NOT_FOUND)
        return named[bare]

    def _message(self, user: str, channel: str, label: str, text: str) -> Message:
        """The newest message that this person sees there with such a button."""
        slack = self._world.slack
        for message in reversed(slack.visible(user, channel)):
            if label in _labels(message) and text in slack.text_of(message):
                return message
        seen = {each for m in slack.visible(user, channel) for each in _labels(m)}
        raise WebError(f"no message there has a button {label}{closest(label, seen)}", NOT_FOUND)

    def _shown(self, message: Message) -> dict[str, Any]:
        slack = self._world.slack
        return {
            "ts": message.ts,
            "from": slack.name_of(message.user),
            "thread": message.thread_ts if message.is_reply else None,
            "only": slack.name_of(message.viewer) if message.viewer else None,
            "text": slack.text_of(message),
            "buttons": _labels(message),
        }


def duration(text: str) -> timedelta:
    """A duration like 90s, 1h30m or 3d; WebError says what is right."""
    parts = re.findall(r"(\d+)([smhd])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise WebError(f"{text} is not a duration like 90s, 1h30m or 3d")
    return sum((timedelta(**{_UNITS[unit]: int(number)}) for number, unit in parts), timedelta(0))


def _text(request: Request, key: str) -> str:
    value = request.body.get(key)
    if not isinstance(value, str) or not value:
        raise WebError(f'"{key}" is missing; it must be a text')
    return value


def _shares(request: Request) -> list[float]:
    """How busy GPUs are; WebError says what is right."""
    found = request.body.get("busy")
    known: list[Any] = found if isinstance(found, list) else [found]
    if not known or not all(isinstance(each, int | float) and 0 <= each <= 1 for each in known):
        raise WebError('"busy" must be shares of the time, like [0.9, 0]')
    return [float(each) for each in known]


def _labels(message: Message) -> list[str]:
    return [
        element["text"]["text"]
        for block in message.blocks
        for element in block.get("elements", ())
        if isinstance(element, dict) and element.get("type") == "button"
    ]
