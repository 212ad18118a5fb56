"""What quartermaster.yaml may say; docs/settings.md is generated from the words here."""

from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, SecretStr, StringConstraints

from bot.config.anf import Anf
from bot.config.clusters import ClusterSettings
from bot.config.datasets import Datasets, Store
from bot.config.digests import Digest
from bot.config.gpus import Gpus
from bot.config.kinds import (
    Address,
    ApiUrl,
    ChannelId,
    CommandPrefix,
    Duration,
    LoopbackUrl,
    Name,
    Pattern,
    WorkspaceId,
)
from bot.config.presets import Preset
from bot.config.section import Circle, Section
from bot.config.snapshots import Snapshots
from bot.config.teams import Team


class Database(Section):
    """Where rows are kept; QUARTERMASTER_DATABASE_URL wins, for URLs with a password."""

    url: Annotated[str, Field(repr=False)] = "sqlite:///quartermaster.db"
    """SQLite serves one bot; two or more replicas need PostgreSQL."""


class Slack(Section):
    """How Slack is reached; the tokens come from the environment or a secrets folder."""

    transport: Literal["socket", "http"] = "socket"
    """socket needs no address of our own; http takes Slack's signed requests on http.listen."""

    api_url: ApiUrl = "https://slack.com/api/"
    """Slack's Web API; SLACK_API_URL wins."""

    command_prefix: CommandPrefix = ""
    """Put before each slash command where names clash: with qm /train becomes /qm-train."""

    admin_channel: ChannelId | None = None
    """Where admins are told what needs them; without it they get direct messages."""

    shared_channels: tuple[ChannelId, ...] = ()
    """Channels shared with another company in which cards are shown all the same."""


class Http(Section):
    """The bot's own servers: Slack's requests with transport http, and health and metrics."""

    listen: Address = "127.0.0.1:8080"
    """The address and port; in a container 0.0.0.0:8080."""

    ops_listen: Address | None = None
    """Where /metrics, and what exactly is not ready, are shown: 0.0.0.0:8081 in a container.

    `listen` then shows no more of them than "alive" and "ready". Without it `listen` shows them,
    unless Slack's requests come there.
    """


class Clock(Section):
    """A clock that a playground shifts; refused elsewhere."""

    url: LoopbackUrl | None = None
    """Where the playground says how far its time is ahead."""


class Policy(Section):
    """Who decides a kind of request, how many of them, and until when."""

    approvers: Circle = Circle()
    """Who may decide; never their own requests."""

    needed: Annotated[int, Field(ge=1, le=10)] = 1
    """How many different people have to approve."""

    expires: Duration = timedelta(hours=24)
    """After this a request that nobody decided is closed."""

    remind: Duration = timedelta(hours=4)
    """After this the approvers are reminded once."""


class Approvals(Section):
    """Where requests are shown and who decides them."""

    channel: ChannelId | None = None
    """The channel of the request cards; without it they go to the approvers as direct messages."""

    quota_override: Policy = Policy()
    """More quota for a while: `/quota request`."""

    quota_base: Policy = Policy()
    """A team's quota for good: `/quota set`."""

    anf_change: Policy = Policy()
    """What changes volumes: `/anf repair`, and `/anf level` where anf.changes has it approved."""

    snapshot_restore: Policy = Policy()
    """A PVC put back to what a snapshot shows: `/snapshot restore --in-place`."""

    @property
    def policies(self) -> tuple[Policy, ...]:
        """All of them."""
        return self.quota_override, self.quota_base, self.anf_change, self.snapshot_restore


class OverrideMode(StrEnum):
    """What an approved quota override changes in the ClusterQueue."""

    BORROWING_LIMIT = "borrowing_limit"
    NOMINAL_QUOTA = "nominal_quota"
    TRANSFER = "transfer"


class Quotas(Section):
    """How quota overrides work here."""

    override: OverrideMode = OverrideMode.NOMINAL_QUOTA
    """What changes: how much may be borrowed, the nominal quota, or two teams' quotas at once."""

    resource: str = "nvidia.com/gpu"
    """The resource that counts as a GPU."""

    longest: Duration = timedelta(days=14)
    """The longest override that may be asked for."""

    after_end: Literal["keep", "stop"] = "keep"
    """Runs above quota at the end: run until reclaimed (keep), or stopped after a notice (stop)."""

    stop_notice: Duration = timedelta(minutes=30)
    """How long before a stop its owner is told."""


class ResultPattern(Section):
    """A figure to read from log lines: `pattern` has one group, the value."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=40)]
    """What cards call the figure."""

    pattern: Annotated[Pattern, StringConstraints(min_length=1, max_length=200)]
    """What finds it in a line."""


class NetworkTest(Section):
    """What tests the network between nodes: `/gpu nccl`."""

    image: Annotated[str, StringConstraints(min_length=1, max_length=255)] = (
        "public.ecr.aws/hpc-cloud/nccl-tests:cuda12.8.1"
    )
    """An image with nccl-tests, Open MPI, ssh and sshd."""

    program: Annotated[str, StringConstraints(min_length=1, max_length=255)] = (
        "/opt/nccl-tests/build/all_reduce_perf"
    )
    """The program in it."""


class Prices(Section):
    """What GPUs cost, for `/train compare`."""

    currency: Annotated[str, StringConstraints(pattern="^[A-Z]{3}$")] = "USD"
    """Three letters."""

    per_gpu_hour: dict[Name, Annotated[Decimal, Field(ge=0)]] = Field(default_factory=dict)
    """The price of an hour of one GPU, by the flavor that the queue gives it out in."""


class Training(Section):
    """What is read from the logs of runs, besides the usual loss, epoch, step and images/sec."""

    results: tuple[ResultPattern, ...] = ()
    """Further figures to find."""

    long_wait: Duration = timedelta(minutes=30)
    """After how long a wait the owner of a run is told that it runs now."""

    network_test: NetworkTest = NetworkTest()
    """What `/gpu nccl` runs."""

    prices: Prices = Prices()
    """What GPUs cost."""


class Settings(Section):
    """The whole of quartermaster.yaml."""

    workspace: WorkspaceId
    """The Slack workspace this bot serves."""

    playground: bool = False
    """Set by the playground alone: allows a clock that is shifted."""

    database: Database = Database()
    slack: Slack = Slack()
    http: Http = Http()
    clock: Clock = Clock()
    clusters: dict[Name, ClusterSettings] = Field(
        default_factory=lambda: {"default": ClusterSettings()}
    )
    teams: dict[Name, Team]
    admins: Circle = Circle()
    """Platform admins: they set quotas, and approve alone where it cannot wait (with an alert)."""

    approvals: Approvals = Approvals()
    quotas: Quotas = Quotas()
    presets: dict[Name, Preset] = Field(default_factory=dict)
    """Options of `/train submit` under one name, for every team."""

    training: Training = Training()
    stores: dict[Name, Store] = Field(default_factory=dict)
    datasets: Datasets | None = None
    snapshots: Snapshots = Snapshots()
    gpus: Gpus = Gpus()
    anf: Anf | None = None
    digests: dict[ChannelId, Digest] = Field(default_factory=dict)
    """By channel: what GPUs did, every morning."""

    def keep_caches(self, team: str) -> timedelta | None:
        """How long a team's caches stay when nobody uses them; None when for ever."""
        own = self.teams[team].keep_caches if team in self.teams else None
        kept = own or (self.datasets.keep if self.datasets else "off")
        return None if kept == "off" else kept

    def named_people(self) -> frozenset[str]:
        """Everybody whom this file names."""
        return frozenset(who for circle in self._circles() for who in circle.people)

    def named_channels(self) -> frozenset[str]:
        """The channels that the configuration names."""
        named = {channel for team in self.teams.values() for channel in team.channels}
        others = {self.approvals.channel, self.slack.admin_channel, *self.digests}
        return frozenset(named | {each for each in others if each})

    def named_groups(self) -> frozenset[str]:
        """Every Slack user group that this file names."""
        return frozenset(group for circle in self._circles() for group in circle.groups)

    def _circles(self) -> tuple[Circle, ...]:
        teams = tuple(each for team in self.teams.values() for each in (team.members, team.leads))
        return (*teams, self.admins, *(each.approvers for each in self.approvals.policies))


class Secrets(Section):
    """What only the environment or a secrets folder gives."""

    bot_token: SecretStr
    app_token: SecretStr | None = None
    signing_secret: SecretStr | None = None
