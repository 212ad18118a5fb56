"""Kubeconfigs: which cluster, and how the bot logs in there."""

import base64
from pathlib import Path
from typing import Any

from bot.cluster.api.logins.aks import aks_login, old_aks_login
from bot.cluster.api.logins.commands import Command
from bot.cluster.api.logins.eks import eks_login
from bot.cluster.api.logins.login import Login
from bot.cluster.api.logins.program import Program

_KNOWN_PROVIDERS = frozenset({"gcp", "oidc"})  # by the client


def fill_from_kubeconfig(path: str | None, context: str | None, configuration: Any) -> Login:
    """Completes a client Configuration by a kubeconfig; without a path, KUBECONFIG or the default.

    The client's ConfigException if there is none, or it makes no sense.
    """
    import kubernetes  # noqa: PLC0415 - a tenth of a second: only who talks to a cluster pays

    client: Any = kubernetes.config.kube_config
    merged = client.KubeConfigMerger(path or client.KUBE_CONFIG_DEFAULT_LOCATION).config
    if merged is None:
        raise kubernetes.config.ConfigException("Invalid kube-config file. No configuration found.")
    try:
        login = _login(merged, context)
    except (AttributeError, KeyError, TypeError) as error:  # of a section with another shape
        raise kubernetes.config.ConfigException(
            f"the user's section in the kubeconfig cannot be read ({error})"
        ) from error
    loader = client.KubeConfigLoader(merged, context, config_base_path=None)
    loader.load_and_set(configuration)
    if login.token is not None:
        take_tokens(configuration, login)
    return login


def take_tokens(configuration: Any, login: Login) -> None:
    """Has the client take the login's token for each request."""

    def renew(current: Any) -> None:
        current.api_key["BearerToken"] = f"Bearer {login.token()}" if login.token else ""

    configuration.api_key["BearerToken"] = ""
    configuration.refresh_api_key_hook = renew


def _login(merged: Any, context: str | None) -> Login:
    """How the context's user logs in; what the bot does itself is taken out of the kubeconfig."""
    chosen = merged["contexts"].get_with_name(context or merged["current-context"])["context"]
    name = chosen.safe_get("user")
    users = merged["users"] if merged.safe_get("users") else None
    node = users.get_with_name(name, safe=True) if name and users is not None else None
    if node is None:
        return Login("requests without credentials")
    user = node["user"]
    said: dict[str, Any] = user.value
    if "auth-provider" in said:
        return _of_provider(said)
    if said.get("token") or said.get("tokenFile"):
        return Login(f"the token of user {name} in the kubeconfig")
    if "exec" in said:
        cluster = merged["clusters"].get_with_name(chosen["cluster"])["cluster"]
        return _of_command(user, cluster)
    if any(key.startswith("client-certificate") for key in said):
        return Login(f"the certificate of user {name} in the kubeconfig")
    if said.get("username"):
        return Login(f"the password of user {name} in the kubeconfig")
    return Login("requests without credentials")


def _of_provider(said: dict[str, Any]) -> Login:
    import kubernetes  # noqa: PLC0415 - as above

    provider = said["auth-provider"] or {}
    login = old_aks_login(provider)
    if login is not None:
        del said["auth-provider"]
        return login
    name = provider.get("name")
    if name not in _KNOWN_PROVIDERS:
        raise kubernetes.config.ConfigException(
            f"the auth-provider {name} is not supported; for AKS, write it again with az aks"
            " get-credentials"
        )
    return Login(f"the auth-provider {name} of the kubeconfig")


def _of_command(user: Any, cluster: Any) -> Login:
    """The login by the command itself, or by the program; a certificate goes to the client."""
    folder = str(Path(user.path).absolute().parent) if user.path else ""
    said = user.value
    program = Program(user, folder, cluster)
    command = Command.of(said["exec"])
    login = eks_login(command) or aks_login(command, is_installed=program.is_installed)
    if login is None:
        login = _of_program(program, said)
    del said["exec"]
    return login


def _of_program(program: Program, said: dict[str, Any]) -> Login:
    printed = program.run()
    if not printed.client_certificate_data:
        return program.login(printed)
    said["client-certificate-data"] = _encoded(printed.client_certificate_data)
    said["client-key-data"] = _encoded(printed.client_key_data)
    means = f"the certificate that the program {program.name} prints"
    return Login(means, renew_at=printed.renew_at)


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
