"""Tokens for Azure Kubernetes Service, as `kubelogin get-token` prints them.

A token is one of Microsoft Entra for the application of AKS's API servers (`--server-id`).
azure-identity gets it, keeps it, and renews it five minutes before it ends.
"""

import base64
import binascii
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.cluster.api.answers import sentence
from bot.cluster.api.logins.commands import Command, take_apart
from bot.cluster.api.logins.login import CREDENTIALS, RETRY_SECONDS, Login, RenewedToken, Token
from bot.errors import ClusterError

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

_CONNECT_SECONDS, _READ_SECONDS = 3, 5
_EARLY_SECONDS = 300.0

_OPTIONS = {
    "--login": "login",
    "-l": "login",
    "--server-id": "server",
    "--client-id": "client",
    "--client-secret": "secret",
    "--client-certificate": "certificate",
    "--client-certificate-password": "password",
    "--tenant-id": "tenant",
    "-t": "tenant",
    "--environment": "environment",
    "-e": "environment",
    "--authority-host": "authority",
    "--federated-token-file": "token_file",
    "--identity-resource-id": "resource",
    "--token-cache-dir": "",
    "--cache-dir": "",
    "--timeout": "",
}
_SWITCHES = {
    "--disable-instance-discovery": "no_discovery",
    "--disable-environment-override": "",
}
# kubelogin takes these before its arguments.
_VARIABLES = {
    "AAD_LOGIN_METHOD": "login",
    "AAD_SERVICE_PRINCIPAL_CLIENT_ID": "client",
    "AAD_SERVICE_PRINCIPAL_CLIENT_SECRET": "secret",
    "AAD_SERVICE_PRINCIPAL_CLIENT_CERTIFICATE": "certificate",
    "AAD_SERVICE_PRINCIPAL_CLIENT_CERTIFICATE_PASSWORD": "password",
    "AZURE_CLIENT_ID": "client",
    "AZURE_CLIENT_SECRET": "secret",
    "AZURE_CLIENT_CERTIFICATE_PATH": "certificate",
    "AZURE_CLIENT_CERTIFICATE_PASSWORD": "password",
    "AZURE_TENANT_ID": "tenant",
    "AZURE_AUTHORITY_HOST": "authority",
    "AZURE_FEDERATED_TOKEN_FILE": "token_file",
}
# kubeconfigs name the public cloud everywhere; there AZURE_AUTHORITY_HOST decides, as in kubelogin.
_AUTHORITIES = {
    "": "",
    "azurepubliccloud": "",
    "azurechinacloud": "login.chinacloudapi.cn",
    "azureusgovernment": "login.microsoftonline.us",
    "azureusgovernmentcloud": "login.microsoftonline.us",
}
# No person is there to log in, so the bot takes the identity of its pod instead.
_OF_PEOPLE = frozenset({"devicecode", "interactive", "azurecli", "azd", "chained"})
_OF_CREDENTIALS = frozenset({"workloadidentity", "spn", "msi"})
# What kubelogin can do with the login of a developer, if it is there.
_OF_DEVELOPERS = frozenset({"azurecli", "azd"})
_SAID = re.compile(r"AADSTS\d+: [^\r\n]*")
_SETUP = "see AKS in deploy/README.md"


@dataclass(frozen=True)
class AksCommand:
    """What a token is for, and by which identity; unset parts come from the environment."""

    server: str
    login: str
    options: Mapping[str, str]

    @property
    def identity(self) -> str:
        """Whose token it is, for people."""
        who = self.options.get("client") or self.options.get("resource")
        of = f" {who}" if who else ""
        match self.login:
            case "workloadidentity":
                return f"the workload identity{of}"
            case "spn":
                return f"the service principal{of}"
            case "msi":
                return f"the managed identity{of}"
            case _:
                return "the bot's own Azure identity"

    @property
    def authority(self) -> str | None:
        """The host that is asked for tokens; None for that of the environment."""
        environment = self.options.get("environment", "").lower()
        return self.options.get("authority") or _AUTHORITIES[environment] or None


def aks_login(command: Command, *, is_installed: Callable[[], bool]) -> Login | None:
    """The login of `kubelogin get-token`; None for any other command, and if it has to run.

    It runs, if it is installed, for what only it can do: the logins of a developer's tools.
    """
    asked = read_command(command)
    if asked is None or (asked.login in _OF_DEVELOPERS and is_installed()):
        return None
    return _login(asked)


def old_aks_login(provider: Mapping[str, Any]) -> Login | None:
    """The login of an `auth-provider: azure`, which kubectl had before 1.26; else None."""
    config = {str(key): str(value) for key, value in (provider.get("config") or {}).items()}
    environment = config.get("environment", "")
    is_known = environment.lower() in _AUTHORITIES and config.get("config-mode") == "1"
    if provider.get("name") != "azure" or not config.get("apiserver-id") or not is_known:
        return None
    # Its client is the application by which people logged in; the bot is another one.
    options = {"environment": environment}
    return _login(AksCommand(config["apiserver-id"], "devicecode", options))


def read_command(command: Command) -> AksCommand | None:
    """What the command asks for; None for other commands, and for options that are not known."""
    found = take_apart(command.arguments, _OPTIONS, _SWITCHES)
    if command.name != "kubelogin" or found is None or found.words != ("get-token",):
        return None
    if command.environment.keys() - _VARIABLES.keys():
        return None
    options = {**found.options, **{_VARIABLES[k]: v for k, v in command.environment.items()}}
    login, server = options.get("login", "devicecode"), options.get("server")
    is_known = options.get("environment", "").lower() in _AUTHORITIES
    if not server or not is_known or login not in _OF_PEOPLE | _OF_CREDENTIALS:
        return None
    return AksCommand(server, login, options)


def _login(asked: AksCommand) -> Login:
    source = EntraTokens(asked)
    return Login(
        f"a token of Microsoft Entra for AKS, by {asked.identity}",
        RenewedToken(source.token),
        source.principal,
        "The cluster takes tokens of its own Entra tenant and application only. Write the"
        " kubeconfig again: az aks get-credentials --resource-group GROUP --name CLUSTER --file"
        " kubeconfig && kubelogin convert-kubeconfig --login workloadidentity --kubeconfig"
        " kubeconfig. The bot is PRINCIPAL in Entra.",
    )


class EntraTokens:
    """Tokens of one identity for one application."""

    def __init__(self, asked: AksCommand) -> None:
        self._asked = asked
        self._credential: TokenCredential | None = None

    def token(self) -> Token:
        """A token, from azure-identity's memory while it has time left; ClusterError."""
        with self._failing():
            if self._credential is None:
                self._credential = _credential(self._asked)
            found = self._credential.get_token(f"{self._asked.server}/.default")
        ends_at = float(found.expires_on)
        renew_at = max(ends_at - _EARLY_SECONDS, time.time() + RETRY_SECONDS)
        return Token(found.token, renew_at, ends_at)

    def principal(self) -> str:
        """The object id of the identity in Entra; ClusterError "Credentials"."""
        claims = _claims(self.token().word)
        return str(claims.get("oid") or claims.get("appid") or "an unknown identity")

    @contextmanager
    def _failing(self) -> Iterator[None]:
        from azure.core.exceptions import AzureError  # noqa: PLC0415 - see _credential

        try:
            yield
        except (AzureError, OSError, ValueError) as error:
            what = f"Logging in to AKS by {self._asked.identity}"
            said = _SAID.search(str(error))
            # It may stand in quotation marks of the library.
            words = said.group().removesuffix(".'") if said else str(error).partition("\n")[0]
            raise ClusterError(
                sentence(what, words), _hint(self._asked), reason=CREDENTIALS
            ) from error


def _credential(asked: AksCommand) -> "TokenCredential":
    # Importing it takes half a second: only who logs in to AKS pays.
    from azure import identity  # noqa: PLC0415 - see above

    from bot.identities import azure_identity  # noqa: PLC0415 - as above

    options = asked.options
    client, tenant = options.get("client"), options.get("tenant")
    limits: dict[str, Any] = {
        "connection_timeout": _CONNECT_SECONDS,
        "read_timeout": _READ_SECONDS,
        "retry_total": 1,
    }
    entra = limits | ({"authority": asked.authority} if asked.authority else {})
    match asked.login:
        case "workloadidentity":
            file = options.get("token_file")
            return identity.WorkloadIdentityCredential(
                tenant_id=tenant, client_id=client, token_file_path=file, **entra
            )
        case "msi":
            resource = options.get("resource")
            named = {"identity_config": {"resource_id": resource}} if resource else {}
            return identity.ManagedIdentityCredential(client_id=client, **named, **limits)
        case "spn":
            return _service_principal(asked, entra)
        case _:
            return azure_identity(
                connect_seconds=_CONNECT_SECONDS,
                read_seconds=_READ_SECONDS,
                authority=asked.authority,
            )


def _service_principal(asked: AksCommand, entra: Mapping[str, Any]) -> "TokenCredential":
    """By a secret or certificate of the kubeconfig, else by those of the environment."""
    from azure import identity  # noqa: PLC0415 - as above

    options = asked.options
    client, tenant = options.get("client"), options.get("tenant")
    secret, certificate = options.get("secret"), options.get("certificate")
    discovery = {"disable_instance_discovery": True} if "no_discovery" in options else {}
    if not (secret or certificate):
        return identity.EnvironmentCredential(**discovery, **entra)
    if not (client and tenant):
        raise ValueError("the kubeconfig has no --client-id or no --tenant-id")
    if certificate:
        password = options.get("password")
        return identity.CertificateCredential(
            tenant, client, certificate, password=password, **discovery, **entra
        )
    return identity.ClientSecretCredential(tenant, client, secret or "", **discovery, **entra)


def _hint(asked: AksCommand) -> str:
    if asked.login == "spn":
        return (
            "Check tenant, client and its secret or certificate in the kubeconfig. For new ones,"
            " run az ad app credential reset --id CLIENT_ID."
        )
    if asked.login == "msi":
        return (
            "Assign the managed identity to the nodes that the bot runs on, or use a workload"
            f" identity: kubelogin convert-kubeconfig --login workloadidentity ({_SETUP})."
        )
    return (
        "Give the bot's service account a workload identity: az identity federated-credential"
        " create, and azure.workload.identity/client-id in serviceAccount.annotations of the"
        f" chart ({_SETUP})."
    )


def _claims(word: str) -> Mapping[str, Any]:
    """What a token says of whom it was issued to; empty if it cannot be read."""
    parts = word.split(".")
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        found = json.loads(base64.urlsafe_b64decode(padded))
    except (IndexError, ValueError, binascii.Error):
        return {}
    return found if isinstance(found, dict) else {}
