"""The settings in quartermaster.yaml; docs/settings.md is generated from their docstrings."""

from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, SecretStr, StringConstraints

from bot.config.kinds import (
    Address,
    ApiUrl,
    ChannelId,
    CommandPrefix,
    Duration,
    LoopbackUrl,
    Name,
    OrganisationId,
    Pattern,
    WorkspaceId,
)
from bot.config.sections.anf import Anf
from bot.config.sections.clusters import ClusterSettings
from bot.config.sections.datasets import Datasets, Store
from bot.config.sections.digests import Digest
from bot.config.sections.gpus import Gpus
from bot.config.sections.leftovers import Leftovers
from bot.config.sections.links import RunLinks
from bot.config.sections.mlflow import Mlflow
from bot.config.sections.presets import Preset
from bot.config.sections.pvcs import Pvcs
from bot.config.sections.section import Circle, Section
from bot.config.sections.snapshots import Snapshots
from bot.config.sections.team_creation import TeamCreation
from bot.config.sections.teams import Team
from bot.config.sections.templates import Template


class Database(Section):
    """The bot's database; QUARTERMASTER_DATABASE_URL overrides it, for URLs with a password."""

    url: Annotated[str, Field(repr=False)] = "sqlite:///quartermaster.db"
    """The database URL. SQLite serves one bot; two or more replicas need PostgreSQL."""


class Slack(Section):
    """The connection to Slack; the tokens come from the environment or a secrets folder."""

    transport: Literal["socket", "http"] = "socket"
    """`socket` needs no inbound address; `http` receives Slack's signed requests on
    `http.listen`."""

    api_url: ApiUrl = "https://slack.com/api/"
    """The address of Slack's Web API; SLACK_API_URL overrides it."""

    command_prefix: CommandPrefix = ""
    """Prefix of each slash command, in case names clash: with `qm`, /train becomes /qm-train.
    Create the app from `quartermaster manifest --prefix qm`, too."""

    organisation: OrganisationId | None = None
    """The workspace's Enterprise Grid organisation, all of whose members are colleagues."""

    admin_channel: ChannelId | None = None
    """The channel for notices that need an admin; without it, admins get direct messages."""

    shared_channels: tuple[ChannelId, ...] = ()
    """Channels shared with another company where cards are posted anyway."""


class Http(Section):
    """The bot's HTTP servers: Slack's requests with `transport: http`, health and metrics."""

    listen: Address = "127.0.0.1:8080"
    """The address and port; in a container, 0.0.0.0:8080."""

    ops_listen: Address | None = None
    """The address for /metrics and details of what is not ready; in a container, 0.0.0.0:8081.

    `listen` then reports only "alive" and "ready". Without it, `listen` serves both, unless it
    receives Slack's requests.
    """


class Clock(Section):
    """A clock that the playground shifts; rejected elsewhere."""

    url: LoopbackUrl | None = None
    """The address where the playground reports how far its clock is ahead."""


class Policy(Section):
    """Who decides on a kind of request, how many approvals it needs, and its deadline."""

    approvers: Circle = Circle()
    """People who can decide, but never on their own requests."""

    needed: Annotated[int, Field(ge=1, le=10)] = 1
    """How many different people must approve."""

    expires: Duration = timedelta(hours=24)
    """A request is closed after this time without a decision."""

    remind: Duration = timedelta(hours=4)
    """The approvers are reminded once after this time."""


class LeadPolicy(Policy):
    """Who decides on a kind of request of a team, how many approvals it needs, and its deadline."""

    approvers: Circle = Circle()
    """People who can decide, but never on their own requests; without any, the team's leads and
    the admins."""


class Approvals(Section):
    """Where requests are posted and who decides on them."""

    channel: ChannelId | None = None
    """The channel for request cards; without it, they go to the approvers as direct messages."""

    quota_override: Policy = Policy()
    """A temporary quota increase: `/quota request`."""

    quota_base: Policy = Policy()
    """A permanent change of a team's quota: `/quota set`."""

    anf_change: Policy = Policy()
    """Changes to volumes: `/anf repair`, and `/anf level` if `anf.changes` requires approval."""

    anf_pool: Policy = Policy()
    """A capacity pool that is created or deleted: `/anf pool`."""

    snapshot_restore: Policy = Policy()
    """A PVC reverted in place to a snapshot: `/snapshot restore --in-place`."""

    pvc_change: Policy = Policy()
    """A PVC that grows or is copied, if it costs more than `pvcs.approve_above`: `/pvc resize`,
    `/pvc copy`."""

    team_change: Policy = Policy()
    """A team that is created or removed: `/team create`, `/team remove`."""

    run_cost: LeadPolicy = LeadPolicy()
    """A run that costs more an hour than `templates.NAME.leads_above`: `/train submit --on`."""

    removal: Policy = Policy()
    """The removal of a PVC, snapshot, cache or leftover object above a limit of `leftovers`."""

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The policies of all kinds of request."""
        return (
            self.quota_override,
            self.quota_base,
            self.anf_change,
            self.anf_pool,
            self.snapshot_restore,
            self.pvc_change,
            self.team_change,
            self.run_cost,
            self.removal,
        )


class OverrideMode(StrEnum):
    """What an approved quota override changes in the ClusterQueue."""

    BORROWING_LIMIT = "borrowing_limit"
    NOMINAL_QUOTA = "nominal_quota"
    TRANSFER = "transfer"


class Quotas(Section):
    """How quota overrides work."""

    override: OverrideMode = OverrideMode.NOMINAL_QUOTA
    """What an override changes: the borrowing limit, the nominal quota, or two teams' quotas at
    once."""

    resource: str = "nvidia.com/gpu"
    """The resource that counts as a GPU."""

    longest: Duration = timedelta(days=14)
    """The longest override that can be requested."""

    after_end: Literal["keep", "stop"] = "keep"
    """What happens to runs above quota when an override ends: they run until reclaimed (`keep`), or
    are stopped after a notice (`stop`)."""

    stop_notice: Duration = timedelta(minutes=30)
    """How long before the stop a run's owner is notified."""


class ResultPattern(Section):
    """A result to read from log lines: `pattern` has one group, the value."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=40)]
    """The name of the result on cards."""

    pattern: Annotated[Pattern, StringConstraints(min_length=1, max_length=200)]
    """The pattern that finds it in a line."""


class NetworkReference(Section):
    """The bandwidth that a network test should reach between nodes of one type."""

    type: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,63}$")]
    """The nodes' label `node.kubernetes.io/instance-type`, or the GPU type that a queue gave."""

    efa: Annotated[int, Field(ge=0, le=32)] = 0
    """The number of EFA adapters of a node that the test uses."""

    maximum: Annotated[Decimal, Field(gt=0)]
    """The maximum bus bandwidth, in GB/s."""

    average: Annotated[Decimal, Field(gt=0)] | None = None
    """The average bus bandwidth over all sizes, in GB/s."""


class NetworkTest(Section):
    """The test of the network between nodes: `/gpu nccl`."""

    image: Annotated[str, StringConstraints(min_length=1, max_length=255)] = (
        "public.ecr.aws/hpc-cloud/nccl-tests:cuda12.8.1"
    )
    """An image with nccl-tests, Open MPI, ssh and sshd."""

    program: Annotated[str, StringConstraints(min_length=1, max_length=255)] = (
        "/opt/nccl-tests/build/all_reduce_perf"
    )
    """The program to run in the image."""

    references: tuple[NetworkReference, ...] = ()
    """What tests should reach, by hardware; cards show results as a share of it."""


class Prices(Section):
    """GPU prices, for `/train compare`."""

    currency: Annotated[str, StringConstraints(pattern="^[A-Z]{3}$")] = "USD"
    """The currency, as three letters."""

    per_gpu_hour: dict[Name, Annotated[Decimal, Field(ge=0)]] = Field(default_factory=dict)
    """The price of one GPU-hour, by the flavor from which the queue allocates the GPU."""


class Training(Section):
    """Results and links read from the logs of runs, wait notices, the network test and prices."""

    results: tuple[ResultPattern, ...] = ()
    """Results to read from logs, besides the usual loss, epoch, step and images/sec."""

    long_wait: Duration = timedelta(minutes=30)
    """The owner of a run that waited this long is notified when it runs."""

    links: RunLinks = ()
    """Buttons on cards of runs that open other tools."""

    network_test: NetworkTest = NetworkTest()
    """The test that `/gpu nccl` runs."""

    prices: Prices = Prices()
    """GPU prices."""


class Settings(Section):
    """The top level of quartermaster.yaml."""

    workspace: WorkspaceId
    """The Slack workspace this bot serves."""

    playground: bool = False
    """Set only by the playground: allows a shifted clock."""

    database: Database = Database()
    slack: Slack = Slack()
    http: Http = Http()
    clock: Clock = Clock()
    clusters: dict[Name, ClusterSettings] = Field(
        default_factory=lambda: {"default": ClusterSettings()}
    )
    teams: dict[Name, Team]
    team_creation: TeamCreation | None = None
    admins: Circle = Circle()
    """Platform admins: they set quotas, and approve alone in urgent cases (with an alert)."""

    approvals: Approvals = Approvals()
    quotas: Quotas = Quotas()
    presets: dict[Name, Preset] = Field(default_factory=dict)
    """Named sets of options for `/train submit`, for every team."""

    templates: dict[Name, Template] = Field(default_factory=dict)
    """Compute templates: named places where `/train submit --on` lets runs wait for GPUs."""

    training: Training = Training()
    mlflow: Mlflow | None = None
    stores: dict[Name, Store] = Field(default_factory=dict)
    datasets: Datasets | None = None
    snapshots: Snapshots = Snapshots()
    pvcs: Pvcs = Pvcs()
    leftovers: Leftovers = Leftovers()
    gpus: Gpus = Gpus()
    anf: Anf | None = None
    digests: dict[ChannelId, Digest] = Field(default_factory=dict)
    """Digests of GPU usage every morning, by channel."""

    def keep_caches(self, team: str) -> timedelta | None:
        """How long a team's unused caches are kept; None means forever."""
        own = self.teams[team].keep_caches if team in self.teams else None
        kept = own or (self.datasets.keep if self.datasets else "off")
        return None if kept == "off" else kept

    def named_people(self) -> frozenset[str]:
        """The ids of all people that the file names."""
        return frozenset(who for circle in self._circles() for who in circle.people)

    def named_channels(self) -> frozenset[str]:
        """The ids of all channels that the file names."""
        named = {channel for team in self.teams.values() for channel in team.channels}
        others = {self.approvals.channel, self.slack.admin_channel, *self.digests}
        return frozenset(named | {each for each in others if each})

    def named_groups(self) -> frozenset[str]:
        """The ids of all Slack user groups that the file names."""
        return frozenset(group for circle in self._circles() for group in circle.groups)

    def _circles(self) -> tuple[Circle, ...]:
        teams = tuple(each for team in self.teams.values() for each in (team.members, team.leads))
        return (*teams, self.admins, *(each.approvers for each in self.approvals.policies))


class Secrets(Section):
    """Secrets, which come from the environment or a secrets folder only."""

    bot_token: SecretStr
    app_token: SecretStr | None = None
    signing_secret: SecretStr | None = None
