"""Which request is answered by what."""

from playground.cluster.api.access import (
    Access,
    Attributes,
    User,
    review_access,
    review_rules,
    review_subject,
)
from playground.cluster.api.answers import Answer, Call, answer
from playground.cluster.api.discovery import REVIEWS, VISIBILITY, discover
from playground.cluster.api.paths import Target, target_of
from playground.cluster.api.reading import read_list, read_one
from playground.cluster.api.writing import (
    create,
    delete,
    delete_collection,
    evict,
    patch,
    scale,
    update,
)
from playground.cluster.control.logs import LogOptions, read_log
from playground.cluster.control.loop import moment_of
from playground.cluster.inside import Inside
from playground.cluster.kueue.status import pending_summary
from playground.cluster.objects.errors import method_not_allowed, no_such_path, not_found
from playground.cluster.objects.kinds import CLUSTER_QUEUE, KUEUE, LOCAL_QUEUE, Kinds

EFFECTS = {"create", "update", "patch", "delete", "deletecollection"}
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OPEN = {"/healthz", "/livez", "/readyz"}
_PENDING_LIMIT = 1000


def wish_of(kinds: Kinds, call: Call) -> Attributes:
    """What a request wants to do, for rules and for the record; 404 for unserved paths."""
    parts = [part for part in call.path.split("/") if part]
    if _is_discovery(parts) or call.path in _OPEN:
        return Attributes("get", path=call.path)
    if parts[:1] == ["apis"] and parts[1] in REVIEWS:
        return Attributes("create", parts[1], parts[-1])
    if parts[:2] == ["apis", VISIBILITY]:
        return _pending_wish(parts)
    target = target_of(kinds, call.path)
    verb = _verb(target, call)
    group = target.kind.group
    return Attributes(verb, group, target.resource, target.namespace, target.name)


def _is_discovery(parts: list[str]) -> bool:
    root = parts[:1]
    return (
        parts == ["version"]
        or root == ["openapi"]
        or (root == ["api"] and len(parts) <= len(("api", "v1")))
        or (root == ["apis"] and len(parts) <= len(("apis", "group", "v1")))
    )


def _verb(target: Target, call: Call) -> str:
    if call.method == "GET":
        if call.wants_watch or target.watch:
            return "watch"
        return "get" if target.name else "list"
    if call.method == "DELETE" and not target.name:
        return "deletecollection"
    verb = _VERBS.get(call.method)
    if verb is None:
        raise method_not_allowed()
    return verb


def _pending_wish(parts: list[str]) -> Attributes:
    rest = parts[3:]
    namespace = ""
    if rest[:1] == ["namespaces"]:
        namespace, rest = rest[1], rest[2:]
    match rest:
        case [("clusterqueues" | "localqueues") as plural, name, "pendingworkloads"]:
            return Attributes("get", VISIBILITY, f"{plural}/pendingworkloads", namespace, name)
        case _:
            raise no_such_path()


class Routes:
    """Answers requests by those who may."""

    def __init__(self, inside: Inside, access: Access) -> None:
        self._inside = inside
        self._access = access

    def answer(self, user: User, attributes: Attributes, call: Call) -> Answer:
        """The answer to a request that is no watch."""
        if attributes.path:
            return self._document(call)
        if attributes.group in REVIEWS:
            return self._review(user, attributes, call)
        self._access.require(user, attributes)
        if attributes.group == VISIBILITY:
            return self._pending(attributes, call)
        target = target_of(self._inside.kinds, call.path)
        return self._object(target, attributes.verb, call)

    def watch_target(self, user: User, attributes: Attributes, call: Call) -> Target:
        """What a watch is about, if the user may watch it."""
        self._access.require(user, attributes)
        return target_of(self._inside.kinds, call.path)

    def _object(self, target: Target, verb: str, call: Call) -> Answer:
        inside = self._inside
        if target.part in {"log", "eviction", "scale"}:
            return self._part(target, call)
        match verb:
            case "list":
                return read_list(inside.store, target, call, inside.loop.present)
            case "get":
                return read_one(inside.store, target, call, inside.loop.present)
            case "create":
                return create(inside, target, call)
            case "update":
                return update(inside, target, call)
            case "patch":
                return patch(inside, target, call)
            case "delete":
                return delete(inside, target, call)
            case _:
                return delete_collection(inside, target, call)

    def _part(self, target: Target, call: Call) -> Answer:
        if target.part == "scale":
            return scale(self._inside, target, call)
        if target.part == "eviction":
            if call.method != "POST":
                raise method_not_allowed()
            return evict(self._inside, target, call)
        if call.method != "GET":
            raise method_not_allowed()
        inside = self._inside
        key = (target.namespace, target.name)
        text = read_log(inside.store, inside.kubelet, key, _log_options(call), inside.loop.present)
        return Answer(200, text, "text/plain")

    def _document(self, call: Call) -> Answer:
        if call.path in _OPEN:
            return Answer(200, b"ok", "text/plain")
        visibility = self._visibility()
        found = discover(self._inside.kinds, call.path, visibility=visibility)
        if found is None:
            raise no_such_path()
        return answer(found)

    def _visibility(self) -> tuple[str, ...]:
        queue = self._inside.kinds.find(KUEUE, CLUSTER_QUEUE.plural)
        return queue.versions if queue is not None and self._inside.kueue_on else ()

    def _review(self, user: User, attributes: Attributes, call: Call) -> Answer:
        if call.method != "POST":
            raise method_not_allowed()
        match attributes.resource:
            case "selfsubjectaccessreviews":
                return answer(review_access(self._access, user, call.json()), 201)
            case "selfsubjectrulesreviews":
                return answer(review_rules(self._access, user, call.json()), 201)
            case "selfsubjectreviews":
                return answer(review_subject(user), 201)
            case _:
                raise no_such_path()

    def _pending(self, attributes: Attributes, call: Call) -> Answer:
        inside = self._inside
        version = call.path.split("/")[3]
        if version not in self._visibility():
            raise no_such_path()
        page = (
            int(call.query.get("offset") or 0),
            int(call.query.get("limit") or _PENDING_LIMIT),
        )
        if attributes.resource.startswith("clusterqueues"):
            if inside.store.get(CLUSTER_QUEUE, "", attributes.name) is None:
                raise not_found(CLUSTER_QUEUE, attributes.name)
            body = pending_summary(inside.world, attributes.name, None, page)
        else:
            local = inside.store.get(LOCAL_QUEUE, attributes.namespace, attributes.name)
            if local is None:
                raise not_found(LOCAL_QUEUE, attributes.name)
            queue = local["spec"]["clusterQueue"]
            body = pending_summary(
                inside.world, queue, (attributes.namespace, attributes.name), page
            )
        return answer({**body, "apiVersion": f"{VISIBILITY}/{version}"})


def _log_options(call: Call) -> LogOptions:
    query = call.query

    def number(name: str) -> int | None:
        return int(query[name]) if query.get(name) else None

    def flag(name: str) -> bool:
        return query.get(name, "").lower() in {"1", "true"}

    return LogOptions(
        container=query.get("container", ""),
        previous=flag("previous"),
        tail_lines=number("tailLines"),
        limit_bytes=number("limitBytes"),
        since_seconds=number("sinceSeconds"),
        since_time=moment_of(query["sinceTime"]) if query.get("sinceTime") else None,
        timestamps=flag("timestamps"),
    )
