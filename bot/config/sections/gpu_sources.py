"""Settings of sources of GPU metrics."""

from pydantic import Field

from bot.config.kinds import (
    EksName,
    LabelName,
    LabelValue,
    LoginName,
    PrometheusUrl,
    Region,
    StoreUrl,
)
from bot.config.sections.section import Section


class BasicLogin(Section):
    """A user name and a password (HTTP basic authentication)."""

    username: LoginName
    """The user name."""

    password_file: str
    """A file with the password, read again for each request."""


class ClientCertificate(Section):
    """A client certificate for TLS, if the server requires one."""

    certificate_file: str
    """A PEM file with the certificate, followed by its issuers' if the server needs them."""

    key_file: str | None = None
    """A PEM file with its key, without a passphrase; without it, the key is in
    `certificate_file`."""


class SigV4(Section):
    """Requests signed with AWS keys, for Amazon Managed Service for Prometheus."""

    region: Region
    """The region of the workspace, like eu-central-1."""

    credentials: str | None = None
    """A folder with access-key-id and secret-access-key; without it, the bot's own identity."""


class PrometheusSettings(Section):
    """A Prometheus that scrapes the DCGM exporter, or another server with its HTTP API.

    Set at most one of `token_file`, `basic`, `entra` and `sigv4` to authenticate the bot.
    """

    url: PrometheusUrl
    """Its address, like http://prometheus.monitoring:9090; the part before /api/v1."""

    matchers: dict[LabelName, LabelValue] = Field(default_factory=dict)
    """Labels of this cluster's series, like {cluster: prod}, if it stores several clusters.

    An empty value selects series without the label: {cluster: ""}.
    """

    token_file: str | None = None
    """A file with a bearer token."""

    basic: BasicLogin | None = None
    """A user name and a password."""

    entra: bool = False
    """Use the bot's Microsoft Entra identity, for Azure Monitor managed Prometheus."""

    sigv4: SigV4 | None = None
    """Sign requests, for Amazon Managed Service for Prometheus."""

    client_certificate: ClientCertificate | None = None
    """The certificate that the bot presents in TLS."""

    ca_file: str | None = None
    """A file with the CA of its certificate; without it, the system's CAs are used."""


class CloudWatchSettings(Section):
    """Amazon CloudWatch, with GPU metrics of Container Insights and the CloudWatch agent."""

    region: Region
    """The region of the cluster's metrics, like eu-central-1."""

    cluster_name: EksName
    """The cluster's name in EKS: the dimension ClusterName of its metrics."""

    endpoint: StoreUrl | None = None
    """Its address, if it is not Amazon's own, such as that of a VPC interface endpoint."""

    credentials: str | None = None
    """A folder with access-key-id and secret-access-key; without it, the bot's own identity."""
