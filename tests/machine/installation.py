"""What the installation is told: who is in which team, and who decides; and what it has."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlmodel import Session

from bot.app import Application
from bot.cluster.labels import DATASET_CACHE, INSTALLATION, MANAGED_BY, MANAGER
from bot.database.schema import installation
from bot.datasets.caches.tables import CACHE
from bot.reconcile.due import wake
from bot.reconcile.wakeups import cluster_lane
from playground.cluster.cluster import Cluster
from playground.cluster.story import claim
from tests.bot.datasets.caches.rows import add_cached, only_cache
from tests.handlers.command_client import DATASETS

SETTINGS = """\
workspace: T0QM
database: {url: "URL"}
slack: {api_url: "SLACK"}
clusters: {default: {kubeconfig: FOLDER/kubeconfig}}
admins: {people: [U0CAROL]}
teams:
  team-a:
    channels: [C0TEAMA]
    members: {people: [MEMBERS]}
    leads: {people: [U0ERIN]}
    namespace: team-a
    local_queue: team-a
  team-b:
    channels: [C0TEAMB]
    leads: {people: [U0BOB]}
    namespace: team-b
    local_queue: team-b
approvals:
  channel: C0APPROVE
  quota_override: {approvers: {people: [APPROVERS]}}
"""


def write_settings(
    folder: Path, slack_url: str, members: Sequence[str], approvers: Sequence[str]
) -> None:
    """Writes quartermaster.yaml for team-a with these members, and these approvers of quota."""
    told = f"{SETTINGS}{DATASETS}  static_drivers: [csi.playground]\n"
    text = told.replace("URL", f"sqlite:///{folder}/bot.db").replace("SLACK", slack_url)
    text = text.replace("FOLDER", str(folder)).replace("MEMBERS", ", ".join(members))
    (folder / "quartermaster.yaml").write_text(text.replace("APPROVERS", ", ".join(approvers)))


def cache_dataset(app: Application, cluster: Cluster) -> None:
    """Caches dataset chest-xray@v3, for an hour after it was last used."""
    now = app.clock.now()

    def add(session: Session) -> dict[str, Any]:
        cache = add_cached(session, keep_seconds=3600, ready_at=now)
        cache.used_at = cache.since = now
        marks = {MANAGED_BY: MANAGER, INSTALLATION: installation(session)}
        body: dict[str, Any] = claim(cache.claim_name, "300Gi")
        body["metadata"]["labels"] = marks | {DATASET_CACHE: cache.id}
        return body

    def bound(session: Session) -> None:
        cache = only_cache(session)
        cache.claim_uid = made["metadata"]["uid"]
        wake(session, CACHE, cache.id, cluster_lane("default"), now)

    cluster.create("namespaces", {"metadata": {"name": "datasets"}})
    body = app.database.transaction(add)
    made = cluster.create("persistentvolumeclaims", body, "datasets")
    cluster.settle()
    app.database.transaction(bound)
