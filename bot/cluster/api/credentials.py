"""Addresses and credentials of clusters, loaded by Kubernetes' official client."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import yaml

from bot.cluster.api.answers import sentence
from bot.cluster.api.logins.kubeconfig import fill_from_kubeconfig
from bot.cluster.api.logins.login import CREDENTIALS, Login
from bot.errors import ClusterError

POOL_SIZE = 32


@dataclass(frozen=True)
class Access:
    """A way into a cluster: its address, the connections to it and who we say we are."""

    configuration: Any
    pool: Any
    login: Login

    @property
    def host(self) -> str:
        """The API server's URL."""
        return str(self.configuration.host)

    def headers(self) -> dict[str, str]:
        """What proves who we are; an expiring token is renewed by asking."""
        with _failing("The credentials cannot be renewed"):
            settings = self.configuration.auth_settings().values()
            found: dict[str, str] = {
                each["key"]: each["value"] for each in settings if each["value"]
            }
            if not all(each.isascii() and each.isprintable() for each in found.values()):
                # http.client would quote it in its exception.
                raise ValueError(
                    "the token has line breaks or other characters that no header takes"
                )
        return found


def load_access(kubeconfig: str | None = None, context: str | None = None) -> Access:
    """The access kubectl would have; where there is none, that of the pod's service account.

    Without `kubeconfig` that is KUBECONFIG or ~/.kube/config. Everything is read again by each
    call, so rotated tokens and certificates are seen. ClusterError "Credentials" when it fails.
    """
    place = kubeconfig or "KUBECONFIG, ~/.kube/config or the pod's service account"
    with _failing(f"Cannot load credentials of the cluster from {place}"):
        return open_access(partial(_fill, kubeconfig, context))


def prepare() -> None:
    """Imports the client, before several threads need it."""
    import kubernetes  # noqa: F401, PLC0415 - as below


def open_access(fill: Callable[[Any], Login | None]) -> Access:
    """Access by a client Configuration that `fill` completes, and by the login it returns."""
    # Importing the client takes a tenth of a second: only who talks to a cluster pays.
    import kubernetes  # noqa: PLC0415 - see above

    configuration = kubernetes.client.Configuration(connection_pool_maxsize=POOL_SIZE)
    configuration.keep_alive = True
    login = fill(configuration) or Login("credentials of its own")
    transport = kubernetes.client.rest.RESTClientObject(configuration)
    return Access(configuration, transport.pool_manager, login)


def _fill(kubeconfig: str | None, context: str | None, configuration: Any) -> Login:
    import kubernetes  # noqa: PLC0415 - as above

    config: Any = kubernetes.config
    try:
        return fill_from_kubeconfig(kubeconfig, context, configuration)
    except config.ConfigException:
        if kubeconfig or context:
            raise
        config.load_incluster_config(configuration)
        return Login("the token of the pod's service account")


@contextmanager
def _failing(what: str) -> Iterator[None]:
    import kubernetes  # noqa: PLC0415 - as above

    try:
        yield
    except (kubernetes.config.ConfigException, OSError, ValueError, yaml.YAMLError) as error:
        raise ClusterError(
            sentence(what, str(error)),
            "Set a kubeconfig under clusters in quartermaster.yaml, or run the bot in the cluster.",
            reason=CREDENTIALS,
        ) from error
