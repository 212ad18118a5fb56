"""The SDK of Azure NetApp Files, put together; imported on first use, as it takes a second."""

from typing import Any
from urllib.parse import urlsplit

from azure.core.pipeline import PipelineRequest
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.identity import DefaultAzureCredential
from azure.mgmt.netapp import NetAppManagementClient
from typing_extensions import override

from bot.config import Anf

CONNECT_SECONDS, READ_SECONDS = 10, 30


class _WithoutTls(SansIOHTTPPolicy[Any, Any]):
    """Lets a token go to a playground; the configuration refuses such addresses elsewhere."""

    @override
    def on_request(self, request: PipelineRequest[Any]) -> None:
        request.context.options.setdefault("enforce_https", False)


def open_client(anf: Anf) -> NetAppManagementClient:
    """A client that repeats nothing by itself: its waits would outlast a step."""
    is_playground = urlsplit(anf.endpoint).scheme == "http"
    return NetAppManagementClient(
        _identity(),
        anf.subscription,
        base_url=anf.endpoint,
        credential_scopes=[f"{anf.endpoint}/.default"],
        per_call_policies=[_WithoutTls()] if is_playground else [],
        connection_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retry_total=0,
    )


def _identity() -> DefaultAzureCredential:
    """Who the bot is: by environment, workload identity or managed identity, and no program."""
    return DefaultAzureCredential(
        exclude_shared_token_cache_credential=True,
        exclude_visual_studio_code_credential=True,
        exclude_cli_credential=True,
        exclude_developer_cli_credential=True,
        exclude_powershell_credential=True,
        exclude_broker_credential=True,
        connection_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retry_total=1,
    )
