"""What quartermaster.yaml says of who knows what GPUs do."""

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
from bot.config.section import Section


class BasicLogin(Section):
    """A name and a password."""

    username: LoginName
    """The name."""

    password_file: str
    """A file with the password, read anew for each look."""


class ClientCertificate(Section):
    """A certificate that the bot shows, where a server wants to know clients by theirs."""

    certificate_file: str
    """A PEM file with the certificate, with its issuers' below it where the server needs them."""

    key_file: str | None = None
    """A PEM file with its key, without a passphrase; without it the key is in certificate_file."""


class SigV4(Section):
    """Requests are signed with keys of AWS, for Amazon Managed Service for Prometheus."""

    region: Region
    """The region of the workspace, like eu-central-1."""

    credentials: str | None = None
    """A folder with access-key-id and secret-access-key; else the bot's own identity counts."""


class PrometheusSettings(Section):
    """A Prometheus that scrapes DCGM's exporter, or another server that speaks its HTTP API.

    At most one of token_file, basic, entra and sigv4 says who asks.
    """

    url: PrometheusUrl
    """Its address, like http://prometheus.monitoring:9090; what stands before /api/v1."""

    matchers: dict[LabelName, LabelValue] = Field(default_factory=dict)
    """Labels of this cluster's series, like {cluster: prod}, where it has those of several.

    An empty value is that of series without the label: {cluster: ""}.
    """

    token_file: str | None = None
    """A file with a bearer token for it."""

    basic: BasicLogin | None = None
    """A name and a password for it."""

    entra: bool = False
    """Ask with the bot's identity at Microsoft Entra, for Azure Monitor managed Prometheus."""

    sigv4: SigV4 | None = None
    """Sign requests, for Amazon Managed Service for Prometheus."""

    client_certificate: ClientCertificate | None = None
    """What the bot shows of itself in TLS."""

    ca_file: str | None = None
    """A file with its certificate's CA; without it the system's count."""


class CloudWatchSettings(Section):
    """Amazon CloudWatch, with what Container Insights and the CloudWatch agent say of GPUs."""

    region: Region
    """Where the cluster's metrics are, like eu-central-1."""

    cluster_name: EksName
    """What EKS calls the cluster: the dimension ClusterName of its metrics."""

    endpoint: StoreUrl | None = None
    """Its address where that is not Amazon's own, as that of an interface in a VPC."""

    credentials: str | None = None
    """A folder with access-key-id and secret-access-key; else the bot's own identity counts."""
