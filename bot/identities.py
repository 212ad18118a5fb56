"""Who the bot is at Azure; imported on first use, as the library takes a while."""

from collections.abc import Callable

from azure.core.exceptions import AzureError
from azure.identity import DefaultAzureCredential

from bot.errors import OutsideError


def azure_identity(*, connect_seconds: float, read_seconds: float) -> DefaultAzureCredential:
    """Who it is by environment, workload identity or managed identity, and by no program."""
    return DefaultAzureCredential(
        exclude_shared_token_cache_credential=True,
        exclude_visual_studio_code_credential=True,
        exclude_cli_credential=True,
        exclude_developer_cli_credential=True,
        exclude_powershell_credential=True,
        exclude_broker_credential=True,
        connection_timeout=connect_seconds,
        read_timeout=read_seconds,
        retry_total=1,
    )


def entra_tokens(*, connect_seconds: float, read_seconds: float) -> Callable[[str], str]:
    """What gives a token for a scope, and keeps it until it is about to expire.

    OutsideError where there is none. What the library says of the reason stays in the log.
    """
    identity = azure_identity(connect_seconds=connect_seconds, read_seconds=read_seconds)

    def token(scope: str) -> str:
        try:
            return identity.get_token(scope).token
        except AzureError as error:
            raise OutsideError(
                "The bot has no working Azure identity.",
                "A platform admin has to set AZURE_CLIENT_ID, AZURE_TENANT_ID and related"
                " variables; see docs/anf.md.",
            ) from error

    return token
