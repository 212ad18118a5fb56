"""Looks at everything the bot depends on, and says what to do about what is wrong."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

from bot.app import version
from bot.cluster import resources
from bot.cluster.cluster import Cluster
from bot.cluster.connection import Connection
from bot.cluster.kai import Queue, Resources
from bot.cluster.resources import KAI, KUEUE, VISIBILITY
from bot.config import ConfigurationFile, Datasets, Secrets, Settings, Team
from bot.config.environment import read_secrets
from bot.database.database import Database
from bot.database.schema import refuse_misfit
from bot.datasets.checking import checks
from bot.errors import ChatError, QuartermasterError
from bot.gpus.prometheus import Prometheus
from bot.slack.client import SlackClient
from bot.slack.manifest import SCOPES

_SKEW_SECONDS = 60.0
_BATCH, _CORE = "batch", ""
_Right = tuple[str, str, str, str]
_EVERYWHERE: tuple[_Right, ...] = (
    ("watch", _BATCH, "jobs", ""),
    ("watch", _CORE, "pods", ""),
    ("watch", _CORE, "nodes", ""),
    ("watch", _CORE, "persistentvolumeclaims", ""),
    ("watch", _CORE, "persistentvolumes", ""),
    ("watch", "storage.k8s.io", "storageclasses", ""),
)
# In each team's namespace.
_IN_TEAMS: tuple[_Right, ...] = (
    ("create", _BATCH, "jobs", ""),
    ("delete", _BATCH, "jobs", ""),
    ("get", _CORE, "pods", "log"),
    ("list", _CORE, "events", ""),
    ("create", _CORE, "persistentvolumeclaims", ""),
    ("create", _CORE, "secrets", ""),
    ("create", _CORE, "services", ""),
    ("create", "networking.k8s.io", "ingresses", ""),
)
_WITH_KUEUE: tuple[_Right, ...] = (
    ("watch", KUEUE, "workloads", ""),
    ("watch", KUEUE, "clusterqueues", ""),
    ("patch", KUEUE, "clusterqueues", ""),
    ("watch", KUEUE, "localqueues", ""),
    ("get", VISIBILITY, "clusterqueues", "pendingworkloads"),
)
_WITH_KAI: tuple[_Right, ...] = (
    ("watch", KAI, "podgroups", ""),
    ("watch", KAI, "queues", ""),
    ("patch", KAI, "queues", ""),
    ("watch", "scheduling.k8s.io", "priorityclasses", ""),
)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; `remedy` says what to do when it is not well."""

    about: str
    state: Literal["ok", "warning", "failed"]
    says: str
    remedy: str = ""

    @property
    def failed(self) -> bool:
        """Whether the bot cannot work like this."""
        return self.state == "failed"

    def as_dict(self) -> dict[str, str]:
        """The finding for machines."""
        return asdict(self)

    def as_line(self) -> str:
        """The finding for a terminal."""
        mark = {"ok": "ok     ", "warning": "warning", "failed": "FAILED "}[self.state]
        remedy = f"\n{'':>9}-> {self.remedy}" if self.remedy else ""
        return f"{mark}  {self.about}: {self.says}{remedy}"


Findings = Iterator[Finding]


def examine(path: Path) -> list[Finding]:
    """Everything that was found; only a configuration that cannot be read ends it early."""
    settings = ConfigurationFile(path).load()
    findings = [Finding("configuration", "ok", f"{path}; teams: {', '.join(settings.teams)}")]
    findings += _tried("database", partial(_database, settings))
    findings += _tried("slack", lambda: _slack(settings, read_secrets(settings.slack.transport)))
    for name in settings.clusters:
        about = f"cluster {name}"
        findings += _tried(about, partial(_cluster, settings, name, about))
        findings += _tried(f"{about} GPUs", partial(_gpus, settings, name, f"{about} GPUs"))
    if settings.datasets is not None:
        findings += _tried("datasets", partial(_datasets, settings, settings.datasets))
    return findings


def _tried(about: str, look: Callable[[], Findings]) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(look())
    except QuartermasterError as error:
        found.append(Finding(about, "failed", error.message, error.hint))
    return found


def _database(settings: Settings) -> Findings:
    database = Database(settings.database.url)
    try:
        database.read(lambda session: refuse_misfit(session, version()))
    finally:
        database.close()
    yield Finding("database", "ok", "the schema fits this version")


def _slack(settings: Settings, secrets: Secrets) -> Findings:
    token = secrets.bot_token.get_secret_value()
    client = SlackClient(token, settings.slack.api_url, settings.workspace)
    identity = client.auth_test()
    if identity.workspace_id != settings.workspace:
        says = f"the token is of workspace {identity.workspace_id}, not {settings.workspace}"
        yield Finding("slack", "failed", says, "Set workspace, or use this workspace's token.")
        return
    yield Finding("slack", "ok", f"the bot is {identity.name} in {identity.workspace_id}")
    yield _scopes(client)
    yield from _channels(settings, client)


def _scopes(client: SlackClient) -> Finding:
    missing = sorted(SCOPES.keys() - client.scopes())
    if not missing:
        return Finding("slack scopes", "ok", f"all {len(SCOPES)} are granted")
    wanted = "; ".join(f"{scope} ({SCOPES[scope]})" for scope in missing)
    remedy = "Update the app from `quartermaster manifest` and install it to the workspace again."
    return Finding("slack scopes", "failed", f"missing: {wanted}", remedy)


def _channels(settings: Settings, client: SlackClient) -> Findings:
    wanted = {channel: name for name, team in settings.teams.items() for channel in team.channels}
    wanted |= {c: "approvals" for c in (settings.approvals.channel,) if c}
    wanted |= {c: "admins" for c in (settings.slack.admin_channel,) if c}
    for channel, whose in wanted.items():
        about = f"channel {channel} ({whose})"
        try:
            found = client.conversation_info(channel)
        except ChatError as error:
            yield Finding(about, "failed", error.message, error.hint)
            continue
        if found.is_archived:
            yield Finding(about, "failed", f"#{found.name} is archived", "Name another channel.")
        elif not found.is_member:
            says = f"the bot is not in #{found.name}"
            yield Finding(about, "failed", says, "Type /invite @Quartermaster there.")
        else:
            yield Finding(about, "ok", f"the bot is in #{found.name}")


def _cluster(settings: Settings, name: str, about: str) -> Findings:
    at = settings.clusters[name]
    cluster = Cluster(name, Connection.to(at.kubeconfig, at.context), "doctor")
    yield _skew(cluster, about)
    teams = {key: team for key, team in settings.teams.items() if name in team.reach}
    if at.engine == "kai":
        yield _engine(cluster, about, ("KAI", KAI), ("kueue", KUEUE))
        yield _rights(cluster, about, (*_EVERYWHERE, *_WITH_KAI), teams)
        yield from _kai_queues(teams, cluster, about)
    else:
        yield _engine(cluster, about, ("Kueue", KUEUE), ("kai", KAI))
        yield _rights(cluster, about, (*_EVERYWHERE, *_WITH_KUEUE), teams)
        yield from _local_queues(teams, cluster, about)


def _gpus(settings: Settings, name: str, about: str) -> Findings:
    """Whether anybody knows what GPUs do."""
    at = settings.clusters[name].prometheus
    if at is None:
        return
    with closing(Prometheus("Prometheus", at)) as prometheus:
        count = prometheus.counted(datetime.now(UTC))
    yield Finding(about, "ok", f"Prometheus knows {count} that pods use")


def _datasets(settings: Settings, datasets: Datasets) -> Findings:
    at = settings.clusters[datasets.cluster]
    cluster = Cluster(datasets.cluster, Connection.to(at.kubeconfig, at.context), "doctor")
    yield from (Finding(*check) for check in checks(settings, datasets, cluster))


def _engine(
    cluster: Cluster, about: str, wanted: tuple[str, str], other: tuple[str, str]
) -> Finding:
    """Whether the engine is there; `other` is the word of the setting for what may be instead."""
    name, group = wanted
    served = cluster.served(group)
    if served:
        return Finding(f"{about} {name}", "ok", f"serves {', '.join(served)}")
    remedy = f"Install {name}, see docs."
    if cluster.served(other[1]):
        remedy = f"Set clusters.{cluster.name}.engine: {other[0]}, which is there."
    says = "is not served; runs would never start"
    return Finding(f"{about} {name}", "failed", says, remedy)


def _skew(cluster: Cluster, about: str) -> Finding:
    skew = abs((cluster.server_time() - datetime.now(UTC)).total_seconds())
    if skew > _SKEW_SECONDS:
        says = f"its clock differs from ours by {skew:.0f} s"
        return Finding(about, "warning", says, "Set both machines by NTP.")
    return Finding(about, "ok", "answers, and its clock agrees with ours")


def _rights(
    cluster: Cluster, about: str, everywhere: Sequence[_Right], teams: Mapping[str, Team]
) -> Finding:
    """Whether the bot may do what it does, in the whole cluster and in the teams' namespaces."""
    namespaces = sorted({team.namespace for team in teams.values()})
    needed: list[tuple[_Right, str | None]] = [(right, None) for right in everywhere]
    needed += [(right, namespace) for namespace in namespaces for right in _IN_TEAMS]
    missing = [_spelled(right, place) for right, place in needed if not _may(cluster, right, place)]
    if missing:
        remedy = "Apply deploy/kubernetes; each team's namespace needs its own RoleBinding."
        return Finding(f"{about} rights", "failed", f"missing: {', '.join(missing)}", remedy)
    return Finding(f"{about} rights", "ok", f"all {len(needed)} are granted")


def _may(cluster: Cluster, right: _Right, namespace: str | None) -> bool:
    verb, group, plural, sub = right
    return cluster.may(verb, group, plural, subresource=sub, namespace=namespace)


def _spelled(right: _Right, namespace: str | None) -> str:
    verb, _, plural, sub = right
    place = f" in {namespace}" if namespace else ""
    return f"{verb} {plural}{'/' + sub if sub else ''}{place}"


def _local_queues(teams: Mapping[str, Team], cluster: Cluster, about: str) -> Findings:
    for name, team in teams.items():
        queue = cluster.get(resources.LOCAL_QUEUES, team.queue, team.namespace)
        place = f"{team.namespace}/{team.queue}"
        if queue is None:
            remedy = f"Create LocalQueue {place}, or set teams.{name}.queue."
            yield Finding(f"{about} {name}", "failed", f"LocalQueue {place} is missing", remedy)
        else:
            says = f"LocalQueue {place} leads to ClusterQueue {queue.spec.cluster_queue}"
            yield Finding(f"{about} {name}", "ok", says)


def _kai_queues(teams: Mapping[str, Team], cluster: Cluster, about: str) -> Findings:
    queues = {each.name: each for each in cluster.list(resources.KAI_QUEUES)}
    parents = {each.spec.parent_queue for each in queues.values()}
    for name, team in teams.items():
        queue, which = queues.get(team.queue), f"Queue {team.queue}"
        if queue is None:
            remedy = f"Create {which}, or set teams.{name}.queue."
            yield Finding(f"{about} {name}", "failed", f"{which} is missing", remedy)
        elif queue.name in parents:
            remedy = f"Set teams.{name}.queue to one of them."
            yield Finding(f"{about} {name}", "failed", f"{which} has Queues below it", remedy)
        elif queue.spec.parent_queue not in queues:
            remedy = "Set its parentQueue to a Queue that is there."
            yield Finding(f"{about} {name}", "failed", f"{which} has no parent", remedy)
        else:
            yield _limits(queue, f"{about} {name}", which)


def _limits(queue: Queue, about: str, which: str) -> Finding:
    """A limit that is not set is 0, for GPUs, cores and memory alike."""
    found = queue.spec.resources or Resources()
    shares = {"cpu": found.cpu, "memory": found.memory, "gpu": found.gpu}
    unset = [name for name, share in shares.items() if share is None or not share.limit]
    if unset:
        says = f"{which} has no limit for {', '.join(unset)}, which KAI takes for a limit of 0"
        remedy = "Set them; -1 is no limit."
        return Finding(about, "warning", says, remedy)
    return Finding(about, "ok", f"{which} is below {queue.spec.parent_queue}")
