"""What the installation is told: who is in which team, and who decides."""

from collections.abc import Sequence
from pathlib import Path

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
stores:
  lake: {secret: lake-keys, places: {team-a: [s3://lake/]}}
datasets:
  namespace: datasets
  image: ghcr.io/acme/quartermaster:0.1.0
  state: s3://qm-state/prod
  state_store: lake
  static_drivers: [csi.playground]
approvals:
  channel: C0APPROVE
  quota_override: {approvers: {people: [APPROVERS]}}
"""


def write_settings(
    folder: Path, slack_url: str, members: Sequence[str], approvers: Sequence[str]
) -> None:
    """Writes quartermaster.yaml for team-a with these members, and these approvers of quota."""
    text = SETTINGS.replace("URL", f"sqlite:///{folder}/bot.db").replace("SLACK", slack_url)
    text = text.replace("FOLDER", str(folder)).replace("MEMBERS", ", ".join(members))
    (folder / "quartermaster.yaml").write_text(text.replace("APPROVERS", ", ".join(approvers)))
