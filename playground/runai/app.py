"""Run:ai's REST API as an ASGI application, as far as the bot calls it."""

import asyncio
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

from playground.ledger import Ledger
from playground.loopback import Receive, Scope, Send
from playground.runai import requests
from playground.runai.estate import Json, Tenant
from playground.runai.refusals import RunaiRefusalError, bad_request

SERVICE = "runai"
_PROJECTS = "/api/v1/org-unit/projects"
_CLUSTERS = "/api/v1/clusters/"
_RESOURCES = "/resources"
_EFFECTS = {"create project", "delete project", "patch project"}
_STATUSES = {"create project": 201, "delete project": 202}
Query = dict[str, list[str]]


def _real_now() -> datetime:
    return datetime.now(UTC)


class RunaiApp:
    """Serves one tenant; the next answers are `refusals`, by the name of the request."""

    def __init__(self, ledger: Ledger, now: Callable[[], datetime] = _real_now) -> None:
        self.tenant = Tenant(now)
        self.ledger = ledger
        self.refusals: dict[str, list[RunaiRefusalError]] = {}
        self.refresh: Callable[[], None] = lambda: None
        """Called before a list is answered, to bring what is in use up to date."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes one request."""
        if scope["type"] != "http":
            return
        content = await _body(receive)
        name, about = _name(scope["method"], scope["path"])
        request = self.ledger.open(SERVICE, name, about, effect=name in _EFFECTS)
        if await self.ledger.arrived(request):
            await _hang_up(receive, send)
            return
        status, body = self._answer(name, about, scope, content)
        if await self.ledger.answered(request):
            await _hang_up(receive, send)
            return
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})

    def refuse(self, name: str, status: int, message: str) -> None:
        """The next request of that name is refused so, before it has any effect."""
        self.refusals.setdefault(name, []).append(RunaiRefusalError(status, message))

    def _answer(self, name: str, about: str, scope: Scope, content: bytes) -> tuple[int, Any]:
        try:
            if self.refusals.get(name):
                raise self.refusals[name].pop(0)
            query = parse_qs(scope["query_string"].decode(), keep_blank_values=True)
            if name == "token":
                requests.none(query)
                asked = _json(scope, content)
                requests.TOKEN("body", asked)
                return 200, self.tenant.grant(asked)
            headers = {key.decode().lower(): value.decode() for key, value in scope["headers"]}
            self.tenant.admit(headers.get("authorization", ""))
            body = self._admitted(name, about, query, scope, content)
            return _STATUSES.get(name, 200), body
        except RunaiRefusalError as error:
            return error.status, error.body

    def _admitted(
        self, name: str, about: str, query: Query, scope: Scope, content: bytes
    ) -> Json | list[Json]:
        self.refresh()
        self.tenant.settle()
        if name not in _EFFECTS:
            return self._read(name, about, query)
        requests.none(query)
        if name == "delete project":
            self.tenant.delete(about)
            return {"code": 202, "message": "the project is being deleted"}
        wanted = _json(scope, content)
        if name == "create project":
            requests.PROJECT("body", wanted)
            return self.tenant.create(wanted)
        requests.resources(wanted)
        return self.tenant.patch(about, wanted)

    def _read(self, name: str, about: str, query: Query) -> Json:
        match name:
            case "get cluster":
                requests.of_cluster(query)
                return self.tenant.cluster(about)
            case "list projects":
                return _paged(query, "projects", self.tenant.listed_projects())
            case "list departments":
                return _paged(query, "departments", self.tenant.listed_departments())
            case "list nodepools":
                page = _paged(query, "nodepools", list(self.tenant.node_pools.values()))
                return {"nodepools": page["nodepools"]}  # documented without `next`
            case "list workloads":
                return _paged(query, "workloads", self.tenant.workloads)
            case _:
                raise RunaiRefusalError(404, "there is no such path and method")


def _name(method: str, path: str) -> tuple[str, str]:
    """What a request is called, and the id that it is about."""
    known = {
        ("POST", "/api/v1/token"): "token",
        ("GET", _PROJECTS): "list projects",
        ("POST", _PROJECTS): "create project",
        ("GET", "/api/v1/org-unit/departments"): "list departments",
        ("GET", "/api/v1/node-pools"): "list nodepools",
        ("GET", "/api/v1/workloads"): "list workloads",
    }
    if (method, path) in known:
        return known[method, path], ""
    if method == "GET" and path.startswith(_CLUSTERS):
        return "get cluster", path.removeprefix(_CLUSTERS)
    if method == "PATCH" and path.startswith(f"{_PROJECTS}/") and path.endswith(_RESOURCES):
        return "patch project", path.removeprefix(f"{_PROJECTS}/").removesuffix(_RESOURCES)
    if method == "DELETE" and path.startswith(f"{_PROJECTS}/"):
        return "delete project", path.removeprefix(f"{_PROJECTS}/")
    return "unknown", path


def _paged(query: Query, what: str, items: Sequence[Json]) -> Json:
    """A page of those that meet the conditions, and where the next one begins, if any."""
    offset, limit, conditions = requests.page(query, what)
    found = [
        each
        for each in items
        if all(str(_value(each, name)) == value for name, value in conditions)
    ]
    page: Json = {what: found[offset : offset + limit]}
    if offset + limit < len(found):
        page["next"] = offset + limit
    return page


def _value(item: Json, name: str) -> Any:
    return item["status"].get(name) if name not in item and "status" in item else item.get(name)


def _json(scope: Scope, content: bytes) -> Any:
    headers = {key.decode().lower(): value.decode() for key, value in scope["headers"]}
    if headers.get("content-type") != "application/json":
        raise bad_request("the body must be application/json")
    try:
        return json.loads(content)
    except ValueError:
        raise bad_request("the body is not JSON") from None


async def _body(receive: Receive) -> bytes:
    content, more = b"", True
    while more:
        message = await receive()
        content += message.get("body", b"")
        more = bool(message.get("more_body"))
    return content


async def _hang_up(receive: Receive, send: Send) -> None:
    """Tears the connection down without an answer."""
    transport: asyncio.Transport = send.__self__.transport  # type: ignore[attr-defined]  # uvicorn's
    transport.abort()
    while (await receive())["type"] != "http.disconnect":
        pass
