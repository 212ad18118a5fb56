"""An API server of EKS: it takes the tokens of one cluster that STS would take."""

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from urllib.request import Request, urlopen

from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.bot.cluster.api.api_server import Asked, Reply, Wire, status

CLUSTER, REGION = "ml-train", "eu-central-1"
ACCESS_KEY, SECRET_KEY = "AKIDEXAMPLE", "a-secret-of-twenty-four-signs"
HOST = f"sts.{REGION}.amazonaws.com"
_SIGNED = "host;x-k8s-aws-id"
_PARAMETERS = {
    "Action",
    "Version",
    "X-Amz-Algorithm",
    "X-Amz-Credential",
    "X-Amz-Date",
    "X-Amz-Expires",
    "X-Amz-SignedHeaders",
    "X-Amz-Signature",
}
_VALID_FOR = timedelta(minutes=15)

Judge = Callable[[str], str]


def guarded(judge: Judge, body: object) -> Reply:
    """Answers who shows a token that the judge finds no fault with; others get a 401."""

    def reply(asked: Asked, wire: Wire) -> None:
        headers = {name.lower(): value for name, value in asked.headers.items()}
        fault = judge(headers.get("authorization", ""))
        if fault:
            wire.send(401, status(401, "Unauthorized", fault))
        else:
            wire.send(200, body)

    return reply


def presigned(authorization: str) -> str:
    """The URL in a token."""
    kind, _, word = authorization.partition(" ")
    assert kind == "Bearer", kind
    prefix, _, text = word.partition(".")
    assert prefix == "k8s-aws-v1", prefix
    assert "=" not in text
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()


def fault_of(url: str, session_token: str = "") -> str:
    """What aws-iam-authenticator and STS would object to in a URL; empty if nothing."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, strict_parsing=True))
    signed_at = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%S%z")
    checks = {
        "scheme": parts.scheme == "https",
        "host": parts.netloc == HOST,
        "path": parts.path == "/",
        "parameters": query.keys() - {"X-Amz-Security-Token"} == _PARAMETERS,
        "action": query["Action"] == "GetCallerIdentity" and query["Version"] == "2011-06-15",
        "expires": query["X-Amz-Expires"] == "60",
        "signed headers": query["X-Amz-SignedHeaders"] == _SIGNED,
        "date": timedelta(minutes=-1) < datetime.now(UTC) - signed_at < _VALID_FOR,
        "session": query.get("X-Amz-Security-Token", "") == session_token,
        "signature": query["X-Amz-Signature"] == _signature(url, query, session_token),
    }
    return ", ".join(name for name, is_right in checks.items() if not is_right)


def _signature(url: str, query: Mapping[str, str], session_token: str) -> str:
    """What STS computes from the request as it arrives, with the secret that it knows."""
    rest = urlencode([(k, v) for k, v in query.items() if k != "X-Amz-Signature"])
    request = AWSRequest(
        "GET", f"{url.partition('?')[0]}?{rest}", headers={"x-k8s-aws-id": CLUSTER}
    )
    request.context["timestamp"] = query["X-Amz-Date"]
    auth: Any = SigV4QueryAuth(
        Credentials(ACCESS_KEY, SECRET_KEY, session_token or None), "sts", REGION, expires=60
    )
    assert query["X-Amz-Credential"] == auth.scope(request)
    signature: str = auth.signature(
        auth.string_to_sign(request, auth.canonical_request(request)), request
    )
    return signature


def caller(url: str) -> str:
    """The ARN that moto's STS knows the signer of a URL by; moto reads no signed queries."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    assert (query["Action"], query["X-Amz-SignedHeaders"]) == ("GetCallerIdentity", _SIGNED)
    signed = f"Credential={query['X-Amz-Credential']}, SignedHeaders={_SIGNED}, Signature=0"
    headers = {
        "Authorization": f"{query['X-Amz-Algorithm']} {signed}",
        "X-Amz-Security-Token": query["X-Amz-Security-Token"],
    }
    body = urlencode({key: query[key] for key in ("Action", "Version")}).encode()
    with urlopen(Request(f"http://{parts.netloc}/", body, headers), timeout=30) as answer:
        said = answer.read().decode()
    found = re.search(r"arn:aws:sts:[^<\"]*", said)
    assert found is not None, said
    return found.group()
