"""The real SDK against the playground, as tests of the playground itself use it."""

import json
from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError
from azure.core.pipeline import PipelineRequest
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.mgmt.netapp import NetAppManagementClient
from typing_extensions import override

from playground.arm.app import IDENTITY
from playground.arm.estate import ACCOUNT, GROUP, SUBSCRIPTION, Pool, Volume
from tests.arm import PATIENCE_SECONDS, Arm

FAR_AWAY = 4_000_000_000


class _Open(SansIOHTTPPolicy[Any, Any]):
    """Lets a token go over plain HTTP."""

    @override
    def on_request(self, request: PipelineRequest[Any]) -> None:
        request.context.options.setdefault("enforce_https", False)


class _Given:
    """A token that somebody has already."""

    def __init__(self, token: str) -> None:
        self._token = token

    def get_token(self, *_scopes: str, **_others: Any) -> AccessToken:
        return AccessToken(self._token, FAR_AWAY)


def token(arm: Arm) -> str:
    """A token of the playground's identity service."""
    headers = {"X-IDENTITY-HEADER": arm.app.identity_header}
    request = Request(f"{arm.url}{IDENTITY}?resource=arm", headers=headers)
    with urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return str(json.load(answer)["access_token"])


def client(
    arm: Arm, given: str | None = None, subscription: str = SUBSCRIPTION
) -> NetAppManagementClient:
    """A client that neither repeats anything nor waits between its questions."""
    return NetAppManagementClient(
        _Given(token(arm) if given is None else given),
        subscription,
        base_url=arm.url,
        credential_scopes=[f"{arm.url}/.default"],
        per_call_policies=[_Open()],
        polling_interval=0,
        retry_total=0,
    )


def place(of: Volume) -> tuple[str, str, str, str]:
    """How the SDK names a volume."""
    return GROUP, ACCOUNT, of.pool.name, of.name


def home(of: Pool) -> tuple[str, str, str]:
    """How the SDK names a pool."""
    return GROUP, ACCOUNT, of.name


def refusal(act: Callable[[], Any]) -> tuple[int | None, str, str]:
    """Status, code and message of a call that must fail."""
    with pytest.raises(HttpResponseError) as caught:
        act()
    error = caught.value.error
    assert error is not None
    return caught.value.status_code, str(error.code), str(error.message)
