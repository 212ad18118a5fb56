"""Opens the SDK client of Azure NetApp Files; imported on first use, which takes a second."""

from typing import Any
from urllib.parse import urlsplit

from azure.core.pipeline import PipelineRequest
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.core.polling import PollingMethod
from azure.mgmt.netapp import NetAppManagementClient, models
from typing_extensions import override

from bot.config import Anf
from bot.identities import azure_identity

CONNECT_SECONDS, READ_SECONDS = 10, 30


class _WithoutTls(SansIOHTTPPolicy[Any, Any]):
    """Allows tokens over HTTP to a playground; the configuration refuses such URLs elsewhere."""

    @override
    def on_request(self, request: PipelineRequest[Any]) -> None:
        request.context.options.setdefault("enforce_https", False)


class Accepted(PollingMethod[None]):
    """A polling method that only records the operation's URL: controllers poll it themselves.

    The library starts a thread for each operation whose polling method is not finished.
    """

    def __init__(self) -> None:
        self.address = ""

    @override
    def initialize(self, client: Any, initial_response: Any, deserialization_callback: Any) -> None:
        headers = initial_response.http_response.headers
        self.address = headers.get("azure-asyncoperation") or headers.get("location") or ""

    @override
    def run(self) -> None:
        """Does nothing."""

    @override
    def status(self) -> str:
        return "accepted"

    @override
    def finished(self) -> bool:
        return True

    @override
    def resource(self) -> None:
        return None


def open_client(anf: Anf, subscription: str) -> NetAppManagementClient:
    """A client of a subscription without retries of its own, which would outlast a step."""
    _settle_models()
    is_playground = urlsplit(anf.endpoint).scheme == "http"
    return NetAppManagementClient(
        azure_identity(connect_seconds=CONNECT_SECONDS, read_seconds=READ_SECONDS),
        subscription,
        base_url=anf.endpoint,
        credential_scopes=[f"{anf.endpoint}/.default"],
        per_call_policies=[_WithoutTls()] if is_playground else [],
        connection_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retry_total=0,
    )


def _settle_models() -> None:
    """Creates one instance of each model, from which the library learns the class's fields.

    Otherwise a thread that creates another instance meanwhile gets plain mappings in it.
    """
    kinds: list[Any] = [each for each in vars(models).values() if hasattr(each, "as_dict")]
    for kind in kinds:
        kind.__new__(kind)
