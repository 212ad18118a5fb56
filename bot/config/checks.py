"""What no single value shows: names that must exist, and things that must fit together."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from bot.config.mistakes import Mistake, suggestion
from bot.config.models import Settings

_TOKENS = ("xoxb-", "xoxp-", "xoxe", "xapp-")


def pasted_secrets(data: object, path: tuple[str | int, ...] = ()) -> Iterator[Mistake]:
    """Secrets in the file, which may hold none; what they are is not shown."""
    if isinstance(data, str) and data.startswith(_TOKENS):
        yield path, "this is a Slack token; tokens come from the environment or a secrets folder."
    if path == ("database", "url") and isinstance(data, str) and _has_password(data):
        yield path, "this URL has a password; put it into QUARTERMASTER_DATABASE_URL instead."
    if isinstance(data, dict):
        for key, value in data.items():
            yield from pasted_secrets(value, (*path, key))
    if isinstance(data, list):
        for index, value in enumerate(data):
            yield from pasted_secrets(value, (*path, index))


def _has_password(url: str) -> bool:
    try:
        return urlsplit(url).password is not None
    except ValueError:
        return False


def misfits(settings: Settings) -> Iterator[Mistake]:
    """What does not fit together, though each value is right by itself."""
    yield from _unknown_clusters(settings)
    yield from _shared_channels(settings)
    yield from _hopeless_policies(settings)
    yield from _two_ways_to_share(settings)
    if settings.clock.url and not settings.playground:
        yield ("clock", "url"), "a shifted clock is for the playground only; remove clock.url."
    if not (settings.admins.people or settings.admins.groups):
        yield (
            ("admins",),
            "there is no admin; name at least one, like admins: {people: [U012ABCDEF]}.",
        )


def _unknown_clusters(settings: Settings) -> Iterator[Mistake]:
    for name, team in settings.teams.items():
        key = "clusters" if team.clusters else "cluster"
        for cluster in team.reach:
            if cluster not in settings.clusters:
                words = suggestion(cluster, settings.clusters)
                yield (
                    ("teams", name, key),
                    f"teams.{name} is on cluster {cluster}, which is not in clusters; {words}",
                )
        if {"cluster", "clusters"} <= team.model_fields_set:
            words = f"teams.{name} has cluster and clusters; name them all in clusters."
            yield ("teams", name, "cluster"), words


def _shared_channels(settings: Settings) -> Iterator[Mistake]:
    owners: dict[str, str] = {}
    for name, team in settings.teams.items():
        for index, channel in enumerate(team.channels):
            owner = owners.setdefault(channel, name)
            if owner != name:
                path = ("teams", name, "channels", index)
                yield path, f"{channel} belongs to {owner} already; a channel belongs to one team."


def _two_ways_to_share(settings: Settings) -> Iterator[Mistake]:
    for name, cluster in settings.clusters.items():
        ways = sorted(cluster.fractions.model_fields_set)
        if len(ways) > 1:
            words = f"{' and '.join(ways)} are two ways to share GPUs; keep one of them."
            yield ("clusters", name, "fractions"), words


def _hopeless_policies(settings: Settings) -> Iterator[Mistake]:
    for key in sorted(settings.approvals.model_fields_set - {"channel"}):
        policy = getattr(settings.approvals, key)
        people = len(set(policy.approvers.people))
        if people < policy.needed and not policy.approvers.groups:
            words = f"{policy.needed} must approve, but approvers names {people}"
            yield ("approvals", key, "needed"), f"{words}; name more people, or a user group."
