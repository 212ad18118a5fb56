"""Checks across settings: names that must exist, and values that must be consistent."""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from bot.config.kinds import is_loopback
from bot.config.mistakes import Mistake, suggestion
from bot.config.models import LeadPolicy, Settings
from bot.config.places import SCHEMES
from bot.config.sections.datasets import ClusterCaches, Datasets, Store
from bot.config.sections.gpu_sources import PrometheusSettings
from bot.config.sections.section import Circle
from bot.durations import format_duration

_LOGINS = ("token_file", "basic", "entra", "sigv4")
# Labels that differ within one cluster and that our queries use.
_WITHIN_CLUSTERS = {
    *("namespace", "pod", "container", "uid", "node", "resource", "phase"),
    *("exported_namespace", "exported_pod", "exported_container"),
    *("gpu", "UUID", "GPU_I_ID", "Hostname", "hostname"),
}
_TOKENS = ("xoxb-", "xoxp-", "xoxe", "xapp-")
_ADDRESSES: dict[Callable[[tuple[str | int, ...]], bool], str] = {
    lambda path: path == ("database", "url"): (
        "this URL contains a password; set it in QUARTERMASTER_DATABASE_URL instead."
    ),
    lambda path: path[:1] == ("stores",) and path[-1] == "endpoint": (
        "this address contains a password; put the keys of stores into a Secret."
    ),
    lambda path: path[:1] == ("mlflow",): (
        "this address contains a password; put it into a file and set mlflow.basic, or set"
        " mlflow.token_file to a file with a token."
    ),
    lambda path: path[-2:] == ("runai", "url"): (
        "this address contains a password; put the client secret into a file and set"
        " client_secret_file."
    ),
    lambda path: path[-2:] == ("prometheus", "url"): (
        "this address contains a password; put it into a file and set basic.password_file, or"
        " set token_file to a file with a token."
    ),
}


def pasted_secrets(data: object, path: tuple[str | int, ...] = ()) -> Iterator[Mistake]:
    """Mistakes for secrets in the file, without the secrets themselves."""
    if isinstance(data, str) and data.startswith(_TOKENS):
        yield path, "this is a Slack token; set tokens in the environment or a secrets folder."
    if isinstance(data, str) and _has_password(data):
        yield from ((path, words) for place, words in _ADDRESSES.items() if place(path))
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
    """Mistakes across settings whose values are valid on their own."""
    yield from _unknown_clusters(settings)
    yield from _shared_channels(settings)
    yield from _hopeless_policies(settings)
    yield from _two_ways_to_share(settings)
    yield from _control_planes(settings)
    yield from _sessions_apart(settings)
    yield from _gpu_sources(settings)
    yield from _unknown_teams_of_stores(settings)
    yield from _places_of_other_types(settings)
    yield from _state_of_other_type(settings)
    yield from _places_in_state(settings)
    yield from _misplaced_datasets(settings)
    yield from _unlinked_classes(settings)
    yield from _misplaced_templates(settings)
    yield from _misplaced_exports(settings)
    yield from _forgotten_nodes(settings)
    yield from _repeated_subscription(settings)
    yield from _unread_pools(settings)
    if settings.anf and settings.anf.endpoint.startswith("http:") and not settings.playground:
        words = "Resource Manager without TLS is for the playground only; use https://."
        yield ("anf", "endpoint"), words
    if settings.clock.url and not settings.playground:
        yield ("clock", "url"), "a shifted clock is for the playground only; remove clock.url."
    if not (settings.admins.people or settings.admins.groups):
        yield (
            ("admins",),
            "there is no admin; add at least one, like admins: {people: [U012ABCDEF]}.",
        )


def _forgotten_nodes(settings: Settings) -> Iterator[Mistake]:
    """Mistakes of an age that unused nodes never reach: samples begin later than that."""
    after, kept = settings.leftovers.idle_nodes_after, settings.gpus.keep_five_minutes
    if "idle_nodes_after" in settings.leftovers.model_fields_set and after > kept:
        age = format_duration(after)
        words = (
            f"after {age} it is no longer known whether a node was used; set"
            f" gpus.keep_five_minutes to {age} or longer."
        )
        yield ("leftovers", "idle_nodes_after"), words


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
            words = f"teams.{name} has both cluster and clusters; list all of them in clusters."
            yield ("teams", name, "cluster"), words


def _control_planes(settings: Settings) -> Iterator[Mistake]:
    """Mistakes of clusters with Run:ai but without its control plane, and the reverse."""
    for name, cluster in settings.clusters.items():
        if cluster.engine == "runai" and cluster.runai is None:
            words = (
                "engine: runai needs its control plane beside it: runai: {url: https://acme.run.ai,"
                " cluster_id: UUID, client_id: NAME, client_secret_file: FILE}."
            )
            yield ("clusters", name, "engine"), words
        if cluster.engine != "runai" and cluster.runai is not None:
            words = f"runai is only used with engine: runai, not {cluster.engine}; remove one."
            yield ("clusters", name, "runai"), words


def _repeated_subscription(settings: Settings) -> Iterator[Mistake]:
    """The mistake of the first subscription that is named among the further ones, too."""
    anf = settings.anf
    if anf is not None and anf.subscription in anf.other_subscriptions:
        words = (
            f"anf.other_subscriptions names {anf.subscription}, which is anf.subscription; name its"
            " accounts in anf.accounts, like accounts: [ml-platform/anf-ml]."
        )
        yield ("anf", "other_subscriptions", anf.subscription), words


def _unread_pools(settings: Settings) -> Iterator[Mistake]:
    """Mistakes of storage classes whose pools are in accounts that are not configured."""
    anf = settings.anf
    if anf is None:
        return
    for name, pools in anf.classes.items():
        for index, (subscription, slash, rest) in enumerate(e.partition("/") for e in pools):
            account, accounts = rest.rpartition("/")[0], anf.subscriptions.get(subscription)
            is_read = accounts == () or account.lower() in map(str.lower, accounts or ())
            if slash and not is_read:
                is_first = subscription == anf.subscription
                remedy = "anf.accounts" if is_first else "anf.other_subscriptions"
                words = (
                    f"anf.classes.{name} names a pool of account {account} of subscription"
                    f" {subscription}, which the bot does not read; add the account to {remedy}, or"
                    " correct the pool."
                )
                yield ("anf", "classes", name, index), words


def _sessions_apart(settings: Settings) -> Iterator[Mistake]:
    """Mistakes of queues for sessions: a project of Run:ai is a namespace, too."""
    for name, team in settings.teams.items():
        there = (each for each in team.reach if each in settings.clusters)
        found = next((each for each in there if settings.clusters[each].engine == "runai"), None)
        if team.interactive_queue is not None and found is not None:
            words = (
                f"interactive_queue is for Kueue and KAI, and cluster {found} has engine: runai;"
                f" remove it, or take the cluster from teams.{name}."
            )
            yield ("teams", name, "interactive_queue"), words


def _misplaced_templates(settings: Settings) -> Iterator[Mistake]:
    """Mistakes of templates: unknown clusters and teams, and teams without the cluster."""
    for name, template in settings.templates.items():
        if template.cluster not in settings.clusters:
            words = suggestion(template.cluster, settings.clusters)
            said = f"templates.{name} is on cluster {template.cluster}, which is not in clusters"
            yield ("templates", name, "cluster"), f"{said}; {words}"
            continue
        for index, team in enumerate(template.teams):
            path = ("templates", name, "teams", index)
            if team not in settings.teams:
                yield path, f"there is no team {team}; {suggestion(team, settings.teams)}"
            elif template.cluster not in settings.teams[team].reach:
                words = f"{team} does not have cluster {template.cluster}"
                yield path, f"{words}; add it to teams.{team}.clusters."


def _shared_channels(settings: Settings) -> Iterator[Mistake]:
    owners: dict[str, str] = {}
    for name, team in settings.teams.items():
        for index, channel in enumerate(team.channels):
            owner = owners.setdefault(channel, name)
            if owner != name:
                path = ("teams", name, "channels", index)
                yield path, f"{channel} already belongs to {owner}; a channel belongs to one team."


def _two_ways_to_share(settings: Settings) -> Iterator[Mistake]:
    for name, cluster in settings.clusters.items():
        ways = sorted(cluster.fractions.model_fields_set)
        if len(ways) > 1:
            words = f"{' and '.join(ways)} are two ways to share GPUs; keep one of them."
            yield ("clusters", name, "fractions"), words


def _gpu_sources(settings: Settings) -> Iterator[Mistake]:
    for name, cluster in settings.clusters.items():
        if cluster.prometheus is not None:
            if cluster.cloudwatch is not None:
                words = (
                    "prometheus and cloudwatch are both sources of GPU metrics; keep one of them."
                )
                yield ("clusters", name, "cloudwatch"), words
            path = ("clusters", name, "prometheus")
            yield from ((path, words) for words in _of_login(cluster.prometheus))
            for label in sorted(cluster.prometheus.matchers.keys() & _WITHIN_CLUSTERS):
                words = f"{label} differs within one cluster; use a label like cluster."
                yield (*path, "matchers", label), words


def _of_login(prometheus: PrometheusSettings) -> Iterator[str]:
    """Mistakes in the authentication at a Prometheus."""
    ways = [each for each in _LOGINS if getattr(prometheus, each)]
    if len(ways) > 1:
        yield f"{' and '.join(ways)} are different ways to authenticate; keep one of them."
    is_secure = prometheus.url.startswith("https:")
    if prometheus.client_certificate is not None and not is_secure:
        yield "client_certificate is only used with TLS; url must begin with https://."
    if (prometheus.entra or prometheus.sigv4) and not is_secure and not is_loopback(prometheus.url):
        yield f"{ways[0]} must not be sent unencrypted; url must begin with https://."


def _unknown_teams_of_stores(settings: Settings) -> Iterator[Mistake]:
    for name, store in settings.stores.items():
        for team in store.places:
            if team not in settings.teams:
                words = suggestion(team, settings.teams)
                yield ("stores", name, "places", team), f"there is no team {team}; {words}"


def _misplaced_exports(settings: Settings) -> Iterator[Mistake]:
    """Mistakes of the MLflow server: two logins, and unknown teams."""
    mlflow = settings.mlflow
    if mlflow is None:
        return
    if mlflow.token_file and mlflow.basic:
        words = "token_file and basic are different ways to authenticate; keep one of them."
        yield ("mlflow", "basic"), words
    named: list[tuple[tuple[str | int, ...], str]] = [
        *((("mlflow", "teams", place), team) for place, team in enumerate(mlflow.teams)),
        *((("mlflow", "experiments", team), team) for team in mlflow.experiments),
    ]
    for path, team in named:
        if team not in settings.teams:
            yield path, f"there is no team {team}; {suggestion(team, settings.teams)}"


def _places_of_other_types(settings: Settings) -> Iterator[Mistake]:
    """Mistakes for addresses and settings that belong to another type of store."""
    for name, store in settings.stores.items():
        scheme = SCHEMES[store.type]
        for keys, places in _places_of(store):
            for index, place in enumerate(places):
                if not place.startswith(scheme):
                    words = f"places in a store of type {store.type} begin with {scheme}"
                    yield ("stores", name, *keys, index), f"{words}, not as in {place}."
        for key in ("region", "path_style") if store.type != "s3" else ():
            if getattr(store, key) != Store.model_fields[key].default:
                yield ("stores", name, key), f"{key} is for stores of type s3; remove it."


def _state_of_other_type(settings: Settings) -> Iterator[Mistake]:
    datasets = settings.datasets
    store = settings.stores.get(datasets.state_store) if datasets is not None else None
    if datasets is not None and store is not None:
        scheme = SCHEMES[store.type]
        if not datasets.state.startswith(scheme):
            words = f"{datasets.state_store} is a store of type {store.type}"
            yield ("datasets", "state"), f"{words}; begin this address with {scheme}"


def _places_of(store: Store) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    yield ("shared",), store.shared
    yield from ((("places", team), each) for team, each in store.places.items())


def _places_in_state(settings: Settings) -> Iterator[Mistake]:
    """Mistakes for places inside `datasets.state`, which is reserved for the bot."""
    state = settings.datasets.state if settings.datasets is not None else None
    for name, store in settings.stores.items() if state is not None else ():
        for keys, places in _places_of(store):
            for index, place in enumerate(places):
                if state is not None and place.startswith(state):
                    words = f"{place} is in datasets.state ({state}), which is for the bot alone"
                    yield ("stores", name, *keys, index), f"{words}; use another place."


_NO_CLASS = "add it there."


def _misplaced_datasets(settings: Settings) -> Iterator[Mistake]:
    datasets = settings.datasets
    if datasets is None:
        return
    for key, known in (("cluster", settings.clusters), ("state_store", settings.stores)):
        named = getattr(datasets, key)
        if named not in known:
            section = "clusters" if key == "cluster" else "stores"
            hint = suggestion(named, known) if known else f"{section} is empty."
            yield ("datasets", key), f"{named} is not in {section}; {hint}"
    yield from _misplaced_caches(settings, datasets, ("datasets",))
    for name, there in datasets.clusters.items():
        path = ("datasets", "clusters", name)
        if name == datasets.cluster:
            words = f"{name} is datasets.cluster; its classes belong in datasets.classes"
            yield path, f"{words}. Move them there."
        elif name not in settings.clusters:
            words = suggestion(name, settings.clusters)
            yield path, f"{name} is not in clusters; {words}"
        if not there.classes:
            words = "name those of that cluster, like classes: {nfs: {budget: 2Ti}}."
            yield (*path, "classes"), f"{'.'.join(path)} has no classes; {words}"
        yield from _misplaced_caches(settings, there, path)


def _misplaced_caches(
    settings: Settings, there: Datasets | ClusterCaches, path: tuple[str, ...]
) -> Iterator[Mistake]:
    """Mistakes of the caches of one cluster: an unknown default class, a team's namespace."""
    if there.default_class is not None and there.default_class not in there.classes:
        hint = suggestion(there.default_class, there.classes) if there.classes else _NO_CLASS
        said = f"{there.default_class} is not in {'.'.join(path)}.classes; {hint}"
        yield (*path, "default_class"), said
    for name, team in settings.teams.items():
        if team.namespace == there.namespace:
            words = f"{team.namespace} is the namespace of {name}, whose runs could read the"
            yield (
                (*path, "namespace"),
                f"{words} keys of stores; use a namespace for nothing else.",
            )


def _unlinked_classes(settings: Settings) -> Iterator[Mistake]:
    """Mistakes of FSx classes: no region, or settings for classes that create volumes."""
    datasets = settings.datasets
    for cluster, there in datasets.clusters.items() if datasets is not None else ():
        for name in (each for each, known in there.classes.items() if known.fsx is not None):
            words = "FSx is only used in datasets.cluster"
            path = ("datasets", "clusters", cluster, "classes", name, "fsx")
            yield path, f"{words}. Move this class to datasets.classes, or remove fsx."
    for name, known in datasets.classes.items() if datasets is not None else ():
        if known.fsx is None:
            continue
        if datasets is not None and datasets.fsx is None:
            hint = "set the region: fsx: {region: eu-central-1}"
            yield ("datasets", "classes", name, "fsx"), f"datasets.fsx is missing; {hint}"
        for key in ("least_size", "throughput_mib_per_tib"):
            if getattr(known, key) is not None:
                words = "is for classes that create a volume for each cache; remove it with fsx."
                yield ("datasets", "classes", name, key), f"{key} {words}"


def _hopeless_policies(settings: Settings) -> Iterator[Mistake]:
    for key in sorted(settings.approvals.model_fields_set - {"channel"}):
        policy = getattr(settings.approvals, key)
        if isinstance(policy, LeadPolicy) and policy.approvers == Circle():
            continue  # The leads of each team decide, and the admins.
        people = len(set(policy.approvers.people))
        if people < policy.needed and not policy.approvers.groups:
            words = f"{policy.needed} must approve, but approvers lists {people}"
            yield ("approvals", key, "needed"), f"{words}; add more people or a user group."
