"""Responses of an API server: decoded objects, or a ClusterError."""

import re
from functools import cache
from http import HTTPStatus
from threading import Lock
from typing import Any, Generic, TypeVar

import msgspec

from bot.cluster.types.objects import ClusterObject, ObjectMeta, ObjectPart
from bot.cluster.types.quantities import Quantity
from bot.errors import ClusterError
from bot.masking import hide_secrets

LONGEST_MESSAGE = 300
# What stands before a policy's own words, and would leave too little room for them.
_PREFACE = re.compile(r"\A.*?(?=ValidatingAdmissionPolicy '|admission webhook \"[^\"]*\" denied)")
_BINDING = re.compile(r"(ValidatingAdmissionPolicy '[^']*') with binding '[^']*'")
# What the authorizer says; every other 403 comes from admission.
_LACKS_RIGHT = re.compile(
    r'\A(?:\S+ (?:"[^"]*" )?is )?forbidden: User "[^"]*" cannot '
    r"|cannot set blockOwnerDeletion if|attempting to grant RBAC permissions"
)
_DENIED = re.compile(r'admission webhook "[^"]*" denied the request|ValidatingAdmissionPolicy \'')
_FULL = "exceeded quota: "
_LEAVING = "because it is being terminated"
_NOT_READY = re.compile(r"not yet ready to handle request|status unknown for quota")
# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes.
_LOOKING = Lock()

T = TypeVar("T")


class ListMeta(ObjectPart, frozen=True, kw_only=True):
    """Where a list stands in time, and where its next page starts."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Page(ObjectPart, Generic[T], frozen=True, kw_only=True):
    """One page of a list."""

    metadata: ListMeta = ListMeta()
    items: tuple[T, ...] | None = None


class WatchEvent(ObjectPart, frozen=True, kw_only=True):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class Bookmark(ObjectPart, frozen=True, kw_only=True):
    """A line that only says how far the watch is."""

    metadata: ObjectMeta = ObjectMeta()


class StatusDetails(ObjectPart, frozen=True, kw_only=True):
    """What a Status is about."""

    name: str = ""
    retry_after_seconds: int = 0


class Status(ObjectPart, frozen=True, kw_only=True):
    """The Status object of a failed request."""

    kind: str = ""
    reason: str = ""
    message: str = ""
    code: int = 0
    details: StatusDetails | None = None


class OverloadedError(ClusterError):
    """The server asked us to come back later."""

    def __init__(self, message: str, *, status: int, reason: str, retry_after_seconds: int) -> None:
        super().__init__(message, status=status, reason=reason)
        self.retry_after_seconds = retry_after_seconds


def decode(body: bytes | msgspec.Raw, type_: type[T], doing: str) -> T:
    """`body` as `type_`; ClusterError "Unreadable" when it is something else."""
    try:
        wanted: Any = type_
        decoded: T = decoder(wanted).decode(body)
    except (msgspec.MsgspecError, ValueError) as error:
        text = sentence(doing, f"cannot decode the server's response ({error})")
        raise ClusterError(text, reason="Unreadable") from error
    return decoded


def decode_page(body: bytes, type_: type[T], doing: str) -> Page[T]:
    """`body` as a list of `type_`."""
    page: Any = Page
    answer: Page[T] = decode(body, page[type_], doing)
    return answer


def meet(type_: type[ClusterObject]) -> None:
    """Prepares the decoders of a class, before threads decode its first objects."""
    page: Any = Page
    for each in (type_, page[type_]):
        decoder(each)


@cache
def decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    """What turns JSON into `type_`, quantities included."""
    with _LOOKING:
        return msgspec.json.Decoder(type_, dec_hook=_quantity)


def _quantity(type_: type, raw: Any) -> Quantity:
    if type_ is not Quantity:
        raise NotImplementedError(f"{type_} has no decoder.")
    return Quantity.of(raw)


def refusal(doing: str, code: int, body: bytes, retry_after: str = "") -> ClusterError:
    """The error for an answer that is not a success; code 0: the body says which."""
    status = _status(code, body)
    code = code or status.code
    reason = _reason(code, status)
    said = _BINDING.sub(r"\1", _PREFACE.sub("", " ".join(status.message.split())))
    word = "Forbidden" if code == HTTPStatus.FORBIDDEN else reason
    text = sentence(doing, f"{code} {word}" + (f": {said}" if said else ""))
    wait = status.details.retry_after_seconds if status.details else 0
    if code in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        seconds = int(retry_after) if retry_after.isdecimal() else wait
        return OverloadedError(text, status=code, reason=reason, retry_after_seconds=seconds)
    return ClusterError(text, _HINTS.get(reason, ""), status=code, reason=reason)


MISSING = "NamespaceMissing"
NO_NAMESPACE = (
    "A platform admin must create that namespace, or set another one in quartermaster.yaml; then"
    " submit it again."
)
_HINTS = {
    "Unauthorized": (
        "The cluster does not accept the bot's credentials; `quartermaster doctor` shows which."
    ),
    "Forbidden": (
        "The bot lacks a right in the cluster; `quartermaster doctor` lists the rights it needs."
    ),
    "OverQuota": "Delete what is not needed there, or ask an admin to raise that ResourceQuota.",
    "Denied": "Change what the policy objects to, or ask a platform admin about the policy.",
    "NamespaceTerminating": NO_NAMESPACE,
}


def sentence(doing: str, said: str) -> str:
    """One sentence of at most 300 characters, without secrets."""
    text = hide_secrets(f"{doing}: {said}".rstrip(". \n"))
    if len(text) >= LONGEST_MESSAGE:
        return text[: LONGEST_MESSAGE - 1].rstrip() + "…"
    return text + "."


def _status(code: int, body: bytes) -> Status:
    try:
        status = decoder(Status).decode(body)
    except msgspec.MsgspecError:
        return Status(message=body[:1000].decode(errors="replace"), code=code)
    return status if status.kind == "Status" else Status(code=code)


def _reason(code: int, status: Status) -> str:
    """Kubernetes' own word; NotServed for a path, not an object, that does not exist."""
    if code == HTTPStatus.FORBIDDEN:
        return _forbidden(status)
    if code == HTTPStatus.NOT_FOUND and _DENIED.search(status.message):
        return "Denied"
    if code == HTTPStatus.NOT_FOUND:
        named = status.details is not None and status.details.name
        return status.reason if named and status.reason else "NotServed"
    if HTTPStatus.MULTIPLE_CHOICES <= code < HTTPStatus.BAD_REQUEST:
        return "Redirect"
    return status.reason or _PHRASES.get(code, "Unknown")


def _forbidden(status: Status) -> str:
    """The reason of a 403; a body that is no Status comes from a proxy in front of the server."""
    return who_forbids(status.message) if status.kind == "Status" else "Forbidden"


def who_forbids(message: str) -> str:
    """Forbidden by the authorizer, OverQuota by a ResourceQuota, or Denied by a policy.

    NotReady is what a server says that has just begun, NamespaceTerminating that the namespace
    takes nothing more.
    """
    said = " ".join(message.split())
    if not said or _LACKS_RIGHT.search(said):
        return "Forbidden"
    if _DENIED.search(said):
        return "Denied"
    if _LEAVING in said:
        return "NamespaceTerminating"
    if _FULL in said:
        return "OverQuota"
    return "NotReady" if _NOT_READY.search(said) else "Denied"


_PHRASES = {status.value: status.phrase.title().replace(" ", "") for status in HTTPStatus}
