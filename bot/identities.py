"""The bot's Azure credentials; imported on first use, because the library is slow to load."""

from collections.abc import Callable

from azure.core.exceptions import AzureError
from azure.identity import DefaultAzureCredential

from bot.errors import OutsideError


def azure_identity(
    *, connect_seconds: float, read_seconds: float, authority: str | None = None
) -> DefaultAzureCredential:
    """Credentials from the environment, a workload identity or a managed identity only.

    `authority` is the host of Microsoft Entra; by default that of the environment.
    """
    return DefaultAzureCredential(
        authority=authority,
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
    """A function that returns a token for a scope, cached until it is about to expire.

    It raises OutsideError if there is no token; the library's own message stays in the log.
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
