"""What the chart makes of values, what it refuses, and that deploy/kubernetes is made with it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from bot.config import ConfigurationFile
from bot.config.models import Settings
from bot.training.kinds.rights import with_rules
from playground.settings import merged
from tests.deploy.features import MINIMAL, SETS, Values, config, default_cluster, with_minimal
from tests.deploy.helm_program import CHART, Helm, HelmError
from tests.deploy.rendering import FILES, KUBERNETES, plain_manifests, the

ROOT = CHART.parents[2]
DOCTOR = "quartermaster doctor --config /etc/quartermaster/quartermaster.yaml"


def refusal(helm: Helm, values: Values) -> str:
    """What Helm says to values that the chart refuses, without the place in the template."""
    with pytest.raises(HelmError) as caught:
        helm.rendered(values)
    return str(caught.value).splitlines()[0].partition("): ")[2]


def test_helm_lints_the_chart_without_warnings(helm: Helm) -> None:
    said = helm.run("lint", "--strict", str(CHART), values=MINIMAL)
    assert "1 chart(s) linted, 0 chart(s) failed" in said
    assert re.findall(r"\[(?:WARNING|ERROR)\].*", said) == []


@pytest.mark.parametrize("name", FILES)
def test_plain_manifests_are_those_of_the_chart(helm: Helm, name: str) -> None:
    written = (KUBERNETES / name).read_text(encoding="utf-8")
    assert plain_manifests(helm)[name] == written, "render them again: make chart"


def test_every_plain_manifest_has_its_source() -> None:
    names = {str(path.relative_to(KUBERNETES)) for path in KUBERNETES.rglob("*.yaml")}
    assert names == {"00-namespace.yaml", *FILES}
    used = {template for each in FILES.values() for template in each.templates}
    templates = {path.stem for path in (CHART / "templates").glob("[a-z]*.yaml")}
    # Only Helm's users have these.
    assert templates - used == {"alerts", "board", "disruption", "monitoring", "secret"}


def test_the_rights_of_kinds_are_in_the_chart() -> None:
    written = (CHART / "templates" / "access.yaml").read_text(encoding="utf-8")
    assert with_rules(written) == written, "write them again: make docs"


BESIDE = (
    "quartermaster is the bot's namespace: whoever can create pods there can read its tokens. Give"
    " teams and datasets other namespaces, or install the chart in another one."
)
REFUSED: Mapping[str, tuple[Values, str]] = {
    "two bots on SQLite": (
        {"replicas": 2},
        "SQLite serves one bot, and replicas is 2. Set replicas: 1 or database.type: postgresql.",
    ),
    "a volume for PostgreSQL": (
        {"database": {"type": "postgresql", "volume": {"existingClaim": "data"}}},
        "database.volume.existingClaim is for SQLite. Leave it out or set database.type: sqlite.",
    ),
    "an unknown cluster": (
        {"cluster": "lab"},
        (
            "cluster is lab, which config.clusters does not have. Name the cluster in which you"
            " install the chart."
        ),
    ),
    "a cluster without teams": (
        merged({"cluster": "lab"}, config(clusters={"lab": {}})),
        (
            "No team in config.teams uses the cluster lab. Set cluster to the name of this"
            " cluster in config.clusters."
        ),
    ),
    "runs beside the bot": (
        config(teams={"team-a": {"namespace": "quartermaster"}}),
        BESIDE,
    ),
    "datasets beside the bot": (
        config(datasets={"namespace": "quartermaster"}),
        BESIDE,
    ),
    "teams without confinement": (
        merged(config(team_creation={}), {"confinement": False}),
        (
            "config.team_creation needs confinement: true: without its policies, the bot's"
            " token could delete any namespace."
        ),
    ),
    "a namespace for no datasets": (
        {"createDatasetsNamespace": True},
        "createDatasetsNamespace needs config.datasets with this cluster.",
    ),
    "an Ingress without HTTP": (
        {"http": {"ingress": {"enabled": True, "host": "qm.example.com"}}},
        (
            "Slack sends requests only with config.slack.transport: http. Set it, or switch off"
            " http.ingress and http.route."
        ),
    ),
    "an Ingress without a host": (
        merged(config(slack={"transport": "http"}), {"http": {"ingress": {"enabled": True}}}),
        "http.ingress needs a host, for example host: quartermaster.example.com.",
    ),
    "a route to nowhere": (
        merged(config(slack={"transport": "http"}), {"http": {"route": {"enabled": True}}}),
        (
            "http.route needs hostnames and parentRefs, for example parentRefs: [{name: public,"
            " namespace: gateways}]."
        ),
    ),
    "a secret from nowhere": (
        {"secret": {"external": {"enabled": True}}},
        (
            "secret.external needs store.name and keys, for example keys: {slack_bot_token: {key:"
            " quartermaster, property: slack_bot_token}}."
        ),
    ),
    "an account without a name": (
        {"serviceAccount": {"create": False}},
        (
            "serviceAccount.create: false needs serviceAccount.name: the service account that is"
            " there."
        ),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_values_that_contradict_are_refused(helm: Helm, name: str) -> None:
    values, sentence = REFUSED[name]
    assert refusal(helm, with_minimal(values)) == sentence


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"replica": 1}, "'replica'"),
        ({"image": {"name": "x"}}, "'name'"),
        ({"database": {"type": "mysql"}}, "/database/type"),
        ({"image": {"digest": "latest"}}, "/image/digest"),
        ({"rights": {"ingresses": "yes"}}, "/rights/ingresses"),
        (config(http={"listen": "0.0.0.0:80"}), "'http'"),
        (config(database={"url": "sqlite:///x"}), "'database'"),
        (default_cluster(engine="slurm"), "/config/clusters/default/engine"),
        (config(teams={"team-b": {}}), "'namespace'"),
    ],
)
def test_unknown_keys_and_values_are_refused(helm: Helm, values: Values, place: str) -> None:
    with pytest.raises(HelmError, match="don't meet the specifications of the schema") as caught:
        helm.rendered(with_minimal(values))
    assert place in str(caught.value)


def test_the_configuration_has_to_be_given(helm: Helm) -> None:
    with pytest.raises(HelmError, match="missing properties 'workspace', 'teams'"):
        helm.rendered({})


def test_the_schema_knows_the_sections_of_the_bot() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    known = set(schema["properties"]["config"]["properties"])
    of_chart, of_playground = {"http", "database"}, {"playground", "clock"}
    assert known == set(Settings.model_fields) - of_chart - of_playground


def test_the_schema_knows_every_value() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert set(schema["properties"]) - {"global"} == set(values)


def test_the_bot_reads_the_configuration_unchanged(helm: Helm, tmp_path: Path) -> None:
    example = ROOT / "quartermaster.example.yaml"
    document = yaml.safe_load(example.read_text(encoding="utf-8"))
    del document["http"], document["database"]
    objects = helm.objects({"config": document})
    path = tmp_path / "quartermaster.yaml"
    path.write_text(the(objects, "ConfigMap")["data"]["quartermaster.yaml"], encoding="utf-8")
    told, expected = ConfigurationFile(path).load(), ConfigurationFile(example).load()
    own = {"http", "database"}
    assert told.model_dump(exclude=own) == expected.model_dump(exclude=own)
    assert told.http.model_dump() == {"listen": "0.0.0.0:8080", "ops_listen": "0.0.0.0:8081"}
    assert told.database.url == "sqlite:////var/lib/quartermaster/quartermaster.db"


def test_large_numbers_and_times_stay_as_they_are(helm: Helm) -> None:
    given = {"approve_above": 12_345_678, "ratio": 0.1, "at": "09:00", "nodes": "1:3", "on": "off"}
    objects = helm.objects(with_minimal(config(pvcs=given)))
    text = the(objects, "ConfigMap")["data"]["quartermaster.yaml"]
    assert yaml.safe_load(text)["pvcs"] == given


def test_datasets_run_the_image_of_the_bot(helm: Helm) -> None:
    values = merged(SETS["datasets"], {"image": {"repository": "ghcr.io/acme/qm", "tag": "7"}})
    text = the(helm.objects(values), "ConfigMap")["data"]["quartermaster.yaml"]
    assert yaml.safe_load(text)["datasets"]["image"] == "ghcr.io/acme/qm:7"


def test_only_settings_of_the_start_restart_the_bot(helm: Helm) -> None:
    def annotation(*more: Values) -> str:
        pod = the(helm.objects(with_minimal(*more)), "Deployment")["spec"]["template"]
        found: str = pod["metadata"]["annotations"]["checksum/settings"]
        return found

    at_start = [default_cluster(engine="kai"), config(slack={"admin_channel": "C012ADMINS"})]
    assert annotation() not in [annotation(each) for each in at_start]
    assert annotation() == annotation(config(admins={"people": ["U012CAROL"]}))


def test_settings_that_restart_are_those_documented() -> None:
    template = (CHART / "templates" / "deployment.yaml").read_text(encoding="utf-8")
    (picked,) = re.findall(r"pick \$file ((?:\"[a-z]+\" )+)\|", template)
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    (listed,) = re.findall(
        r"folder\. (`workspace`.*?) take effect at the next start", page, re.DOTALL
    )
    at_start = set(re.findall(r"`([a-z]+)`", listed))
    assert set(re.findall(r"[a-z]+", picked)) == at_start - {"playground", "clock"}


def test_notes_say_what_is_left_to_do(helm: Helm) -> None:
    said = helm.run(
        "install", "quartermaster", str(CHART), "--dry-run=client", "-n", "chat", values=MINIMAL
    )
    assert said.partition("NOTES:\n")[2].strip().splitlines() == [
        "Quartermaster (1 bot) serves 1 team; quota engine: kueue.",
        "",
        "It reads the Secret quartermaster in chat. The pod waits until the Secret exists:",
        "  slack_bot_token, slack_app_token",
        "",
        (
            "Type /invite @Quartermaster in each channel that `config` names."
            " Then check tokens, channels, rights, database and clock:"
        ),
        "  kubectl -n chat rollout status deploy/quartermaster",
        f"  kubectl -n chat exec deploy/quartermaster -c bot -- {DOCTOR}",
    ]


def test_the_page_installs_a_bot_that_starts(helm: Helm, tmp_path: Path) -> None:
    page = (ROOT / "deploy" / "README.md").read_text(encoding="utf-8")
    (values,) = re.findall(r"\*\*3\. .*?```yaml\n(.*?)```", page, re.DOTALL)
    assert len(values.splitlines()) <= 25
    objects = helm.objects(yaml.safe_load(values))
    path = tmp_path / "quartermaster.yaml"
    path.write_text(the(objects, "ConfigMap")["data"]["quartermaster.yaml"], encoding="utf-8")
    assert list(ConfigurationFile(path).load().teams) == ["team-a"]
    (bot,) = the(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert bot["image"] == "registry.example.com/quartermaster:0.1.0"


def test_values_on_the_page_are_known(helm: Helm) -> None:
    page = (ROOT / "deploy" / "README.md").read_text(encoding="utf-8")
    blocks = [yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    accounts = [each for each in blocks if "serviceAccount" in each]
    assert len(accounts) == 2
    for each in accounts:
        account = the(helm.objects(with_minimal(each)), "ServiceAccount")
        assert account["metadata"]["annotations"] == each["serviceAccount"]["annotations"]


def test_versions_of_chart_and_bot_agree() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (version,) = re.findall(r'^version = "(.*)"$', project, re.MULTILINE)
    assert (chart["version"], chart["appVersion"]) == (version, version)
