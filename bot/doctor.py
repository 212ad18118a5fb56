"""Checks everything the bot depends on, and suggests how to fix problems."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bot.app import version
from bot.cluster.api.connection import Connection
from bot.cluster.checking import identity_finding, subject_of
from bot.cluster.cluster import Cluster
from bot.config import ConfigurationFile, Datasets, Secrets, Settings, Team
from bot.config.environment import read_secrets
from bot.database.database import Database
from bot.database.schema import refuse_misfit
from bot.datasets.checking import checks
from bot.errors import ChatError, ConfigurationError, DatabaseError, QuartermasterError
from bot.findings import Finding, Findings
from bot.gpus import checking as gpus
from bot.gpus.digests.plans import plans_in_force
from bot.quotas.checking import engine_finding
from bot.quotas.engines.definition import Right
from bot.quotas.engines.registry import ENGINES
from bot.slack.client import Identity, SlackClient
from bot.slack.grammar.manifest import FILES_SCOPE, SCOPES
from bot.slack.web_api import WebApi
from bot.snapshots import checking as snapshots
from bot.snapshots.copies import checking as copies
from bot.teams.checking import check_rights, settings_with_teams
from bot.training import checking as training
from bot.training.kinds.kind import RootType
from bot.training.mlflow import checking as mlflow
from bot.training.placing.checking import template_findings
from bot.volumes import checking as volumes
from bot.volumes.anf import NetAppFiles

_SKEW_SECONDS = 60.0
_SIGNING_SECRET = re.compile("[0-9a-fA-F]{32}")
_SIGNING_REMEDY = (
    "Copy it on api.slack.com/apps, Basic Information, Signing Secret. Then:"
    " export SLACK_SIGNING_SECRET=..."
)
_CONNECTING_REMEDY = (
    "Generate one with the scope connections:write on api.slack.com/apps, Basic Information,"
    " App-Level Tokens, and switch Socket Mode on. Then: export SLACK_APP_TOKEN=xapp-..."
)
_AGAIN = (
    "Run `quartermaster doctor` again. If that does not help, `quartermaster support-bundle`"
    " gathers what others need to know."
)
_CORE = ""
_EVERYWHERE: tuple[Right, ...] = (
    Right("watch", _CORE, "pods"),
    Right("watch", _CORE, "nodes"),
    Right("watch", _CORE, "persistentvolumeclaims"),
    Right("watch", _CORE, "persistentvolumes"),
    Right("watch", "storage.k8s.io", "storageclasses"),
)
# In each team's namespace.
_IN_TEAMS: tuple[Right, ...] = (
    Right("get", _CORE, "pods", "log"),
    Right("list", _CORE, "events"),
    Right("create", _CORE, "persistentvolumeclaims"),
    Right("patch", _CORE, "persistentvolumeclaims"),
    Right("delete", _CORE, "persistentvolumeclaims"),
    Right("create", _CORE, "secrets"),
    Right("get", _CORE, "secrets"),
    Right("create", _CORE, "services"),
)
_FOR_ENTRANCES = (Right("create", "networking.k8s.io", "ingresses"),)


def examine(path: Path) -> list[Finding]:
    """All findings; only an invalid configuration ends the checks early."""
    settings = ConfigurationFile(path).load()
    findings = [Finding("configuration", "ok", f"{path}; teams: {', '.join(settings.teams)}")]
    settings, of_teams = settings_with_teams(settings)
    findings += of_teams
    findings += _http(settings)
    findings += _checked("database", partial(_database, settings))
    findings += _checked("slack", lambda: _slack(settings, read_secrets(settings.slack.transport)))
    findings += _checked("slack tokens", partial(_other_tokens, settings))
    for name in settings.clusters:
        about = f"cluster {name}"
        findings += _checked(about, partial(_cluster, settings, name, about))
        findings += _checked(f"{about} GPUs", partial(gpus.checks, settings, name, f"{about} GPUs"))
    if settings.datasets is not None:
        for name in settings.datasets.everywhere:
            about = f" of cluster {name}" if settings.datasets.clusters else ""
            look = partial(_datasets, settings, settings.datasets.at(name), about)
            findings += _checked(f"datasets{about}", look)
    if settings.mlflow is not None:
        findings += _checked("mlflow", partial(mlflow.checks, settings, settings.mlflow))
    if settings.anf is not None:
        findings += _checked("azure netapp files", partial(_anf, settings))
    return findings


def _http(settings: Settings) -> Findings:
    """Slack's requests come to a public address, so that shows no more than is needed."""
    at = settings.http
    if settings.slack.transport == "http" and at.ops_listen is None and not settings.playground:
        says = (
            f"Slack's requests come to {at.listen}, so /metrics is not served, nor the details of"
            " what is not ready or dead."
        )
        remedy = "Set http.ops_listen to a port that no Ingress exposes, for example 0.0.0.0:8081."
        yield Finding("http", "warning", says, remedy)


def _checked(about: str, look: Callable[[], Findings]) -> list[Finding]:
    """What a check finds; each problem says how to fix it."""
    found: list[Finding] = []
    try:
        found.extend(look())
    except QuartermasterError as error:
        found.append(Finding(about, "failed", error.message, error.hint))
    return [
        each if each.state == "ok" or each.remedy else replace(each, remedy=_AGAIN)
        for each in found
    ]


def _database(settings: Settings) -> Findings:
    database = Database(settings.database.url)
    try:
        database.read(lambda session: refuse_misfit(session, version()))
    finally:
        database.close()
    yield Finding("database", "ok", "the schema fits this version")


def _slack(settings: Settings, secrets: Secrets) -> Findings:
    token = secrets.bot_token.get_secret_value()
    at = settings.slack
    client = SlackClient(token, at.api_url, settings.workspace, at.organisation)
    identity = client.auth_test()
    found = _identity(settings, identity)
    yield found
    if found.failed:
        return
    yield _scopes(settings, client, identity)
    yield from _channels(settings, client)


def _other_tokens(settings: Settings) -> Findings:
    """Whether the app-level token opens connections, and the signing secret looks like one.

    One that the transport does not use is worth a warning only.
    """
    try:
        secrets = read_secrets(settings.slack.transport)
    except ConfigurationError:  # said above
        return
    over = settings.slack.transport
    if secrets.app_token is not None:
        found = _app_token(secrets.app_token.get_secret_value(), settings.slack.api_url)
        yield found if over == "socket" or not found.failed else replace(found, state="warning")
    if secrets.signing_secret is not None:
        found = _signing_secret(secrets.signing_secret.get_secret_value())
        yield found if over == "http" or not found.failed else replace(found, state="warning")


def _signing_secret(secret: str) -> Finding:
    about = "slack signing secret"
    if _SIGNING_SECRET.fullmatch(secret):
        says = "it has the form of one; only Slack's requests prove that it is this app's"
        return Finding(about, "ok", says)
    wrong = "it does not have the form of one, 32 hexadecimal digits"
    return Finding(about, "failed", wrong, _SIGNING_REMEDY)


def _app_token(token: str, api_url: str) -> Finding:
    about = "slack app-level token"
    try:
        WebApi(token, api_url).call("apps.connections.open")
    except ChatError as error:
        return Finding(about, "failed", error.message.rstrip("."), _CONNECTING_REMEDY)
    return Finding(about, "ok", "it opens connections for Socket Mode")


def _identity(settings: Settings, identity: Identity) -> Finding:
    """Whether the token is of our workspace, and of the organisation that the settings name."""
    workspace, organisation = settings.workspace, settings.slack.organisation
    theirs = identity.organisation
    if not identity.is_org_wide and identity.workspace_id != workspace:
        says = f"the token belongs to workspace {identity.workspace_id}, not {workspace}"
        remedy = f"Set workspace: {identity.workspace_id}, or use a token of {workspace}."
        return Finding("slack", "failed", says, remedy)
    if theirs != organisation and (identity.is_org_wide or organisation is not None):
        says = f"slack.organisation is {organisation or 'unset'}; the token's is {theirs or 'none'}"
        right = f"slack: {{organisation: {theirs}}}" if theirs else "slack without organisation"
        return Finding("slack", "failed", says, f"Set {right}, or use another token.")
    of = f" of {organisation}" if organisation else ""
    installed = ", installed to all of it" if identity.is_org_wide else ""
    says = f"the bot is {identity.name} in {workspace}{of}{installed}"
    return Finding("slack", "ok", says)


def _scopes(settings: Settings, client: SlackClient, identity: Identity) -> Finding:
    missing = sorted(SCOPES.keys() - client.scopes())
    if not missing:
        return Finding("slack scopes", "ok", f"all {len(SCOPES)} are granted")
    wanted = "; ".join(f"{scope} ({SCOPES[scope]})" for scope in missing)
    remedy = (
        f"Run `{_manifest_command(settings, identity)}`, with any further options that you created"
        " the app with, paste it under App Manifest on api.slack.com/apps, and install the app to"
        " the workspace again."
    )
    if missing == [FILES_SCOPE]:
        off = "until then, files dropped into Slack are not copied to datasets"
        return Finding("slack scopes", "warning", f"missing: {wanted}; {off}", remedy)
    return Finding("slack scopes", "failed", f"missing: {wanted}", remedy)


def _manifest_command(settings: Settings, identity: Identity) -> str:
    """The command for the manifest of this app, with the options that it is known to have.

    An app that is made ready for an organisation stays so: only the token says whether it is.
    """
    slack = settings.slack
    url = "--url https://HOST/slack/events" if slack.transport == "http" else ""
    prefix = f"--prefix {slack.command_prefix}" if slack.command_prefix else ""
    wide = "--org-wide" if identity.is_org_wide else ""
    return " ".join(filter(None, ("quartermaster manifest", url, prefix, wide)))


def _channels(settings: Settings, client: SlackClient) -> Findings:
    wanted = {channel: name for name, team in settings.teams.items() for channel in team.channels}
    wanted |= {c: "approvals" for c in (settings.approvals.channel,) if c}
    wanted |= {c: "admins" for c in (settings.slack.admin_channel,) if c}
    wanted |= {c: said for c, said in _digests(settings).items() if c not in wanted}
    for channel, whose in wanted.items():
        about = f"channel {channel} ({whose})"
        try:
            found = client.conversation_info(channel)
        except ChatError as error:
            yield Finding(about, "failed", error.message, error.hint)
            continue
        if found.is_archived:
            yield Finding(about, "failed", f"#{found.name} is archived", "Use another channel.")
        elif found.is_shared_outside and channel not in settings.slack.shared_channels:
            says = f"#{found.name} is shared with another company; cards are not shown there"
            remedy = "Use another channel, or allow this one in slack.shared_channels."
            yield Finding(about, "warning", says, remedy)
        elif not found.is_member:
            says = f"the bot is not in #{found.name}"
            yield Finding(about, "failed", says, "Type /invite @Quartermaster there.")
        else:
            yield Finding(about, "ok", f"the bot is in #{found.name}")


def _digests(settings: Settings) -> dict[str, str]:
    """The channels of digests: those of the configuration, as changed in Slack."""
    database = Database(settings.database.url)
    try:
        plans = database.read(lambda session: plans_in_force(session, settings))
    except DatabaseError:  # what ails it is said elsewhere
        return dict.fromkeys(settings.digests, "digest of GPUs")
    finally:
        database.close()
    return {plan.channel: f"digest of GPUs{', set in Slack' if plan.by else ''}" for plan in plans}


def _cluster(settings: Settings, name: str, about: str) -> Findings:
    at = settings.clusters[name]
    if at.ingress is not None and not at.ingress.host.startswith("*."):
        says = (
            f"all sessions share the host {at.ingress.host}, so one's pages can access the others'"
        )
        remedy = f"Use a wildcard, with its DNS record and certificate: *.{at.ingress.host}"
        yield Finding(f"{about} sessions", "warning", says, remedy)
    cluster = Cluster(name, Connection.to(at.kubeconfig, at.context), "doctor")
    known = identity_finding(cluster, f"{about} identity")
    yield known
    if known.failed:
        return
    yield _skew(cluster, about)
    teams = {key: team for key, team in settings.teams.items() if name in team.reach}
    engine = ENGINES[at.engine]
    yield engine_finding(engine, cluster, about)
    roots = training.served(cluster)
    in_teams = _IN_TEAMS if at.ingress is None else (*_IN_TEAMS, *_FOR_ENTRANCES)
    yield _rights(cluster, about, _needed(engine.rights, roots, in_teams, teams))
    yield from training.kind_findings(roots, teams, about)
    yield from check_rights(settings, cluster, about)
    yield from engine.check_teams(teams, cluster, about)
    yield from engine.check_service(teams, cluster, at, about)
    yield from template_findings(settings, engine, cluster, about)
    yield from snapshots.checks(settings, cluster)
    yield from copies.checks(settings, cluster)
    yield from volumes.records(settings, cluster)


def _datasets(settings: Settings, datasets: Datasets, about: str) -> Findings:
    at = settings.clusters[datasets.cluster]
    cluster = Cluster(datasets.cluster, Connection.to(at.kubeconfig, at.context), "doctor")
    for each in checks(settings, datasets, cluster):
        yield replace(each, about=f"{each.about}{about}")


def _anf(settings: Settings) -> Findings:
    with closing(NetAppFiles(lambda: settings)) as files:
        yield from volumes.checks(files)


def _skew(cluster: Cluster, about: str) -> Finding:
    skew = abs((cluster.server_time() - datetime.now(UTC)).total_seconds())
    if skew > _SKEW_SECONDS:
        says = f"its clock differs from the bot's by {skew:.0f} s"
        return Finding(about, "warning", says, "On both machines: timedatectl set-ntp true")
    return Finding(about, "ok", "responds, and its clock agrees with the bot's")


def _needed(
    of_engine: Sequence[Right],
    roots: Sequence[RootType],
    in_teams: Sequence[Right],
    teams: Mapping[str, Team],
) -> Sequence[tuple[Right, str | None]]:
    """What the bot does: in the whole cluster, where no namespace is named, and in the teams'."""
    workloads = [each.resource for each in roots]
    watched = [Right("watch", each.group, each.plural) for each in workloads]
    written = [Right(v, r.resource.group, r.resource.plural) for r in roots for v in r.verbs]
    namespaces = sorted({team.namespace for team in teams.values()})
    return [
        *((right, None) for right in (*watched, *_EVERYWHERE, *of_engine)),
        *((right, space) for space in namespaces for right in (*written, *in_teams)),
    ]


def _rights(cluster: Cluster, about: str, needed: Sequence[tuple[Right, str | None]]) -> Finding:
    """Whether the bot may do what it does, in the whole cluster and in the teams' namespaces."""
    missing = [_spelled(right, place) for right, place in needed if not _may(cluster, right, place)]
    if missing:
        subject = subject_of(cluster)
        values = f" with the value {subject}" if subject else ""
        remedy = (
            f"Upgrade the Helm release{values}, or apply deploy/kubernetes; each team's namespace"
            " needs its own RoleBinding."
        )
        return Finding(f"{about} rights", "failed", f"missing: {', '.join(missing)}", remedy)
    return Finding(f"{about} rights", "ok", f"all {len(needed)} are granted")


def _may(cluster: Cluster, right: Right, namespace: str | None) -> bool:
    verb, group, plural, sub = right
    return cluster.may(verb, group, plural, subresource=sub, namespace=namespace)


def _spelled(right: Right, namespace: str | None) -> str:
    verb, _, plural, sub = right
    place = f" in {namespace}" if namespace else ""
    return f"{verb} {plural}{'/' + sub if sub else ''}{place}"
