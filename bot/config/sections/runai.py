"""Settings of the Run:ai control plane that manages a cluster."""

from bot.config.kinds import ControlPlaneUrl, LoginName, RunaiClusterId
from bot.config.sections.section import Section


class RunaiSettings(Section):
    """The Run:ai control plane of a cluster with `engine: runai`, and the bot's access to it."""

    url: ControlPlaneUrl
    """Its address, like https://acme.run.ai; the part before /api/v1."""

    cluster_id: RunaiClusterId
    """The cluster's UUID in Run:ai; a control plane may manage several clusters."""

    client_id: LoginName
    """The client id of a service account that may read and edit projects of the cluster."""

    client_secret_file: str
    """A file with its client secret, read again for each token."""

    ca_file: str | None = None
    """A file with the CA of its certificate; without it, the system's CAs are used."""
