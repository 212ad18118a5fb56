"""The doctor's checks of compute templates: their queues and GPU types exist."""

from typing import Any

from bot.quotas.engines.registry import ENGINES
from bot.training.placing.checking import template_findings
from tests.bot.training.templates.two_clusters import TwoClusters, policy

ABOUT = "cluster default"


def found(two: TwoClusters, templates: dict[str, Any]) -> list[tuple[str, ...]]:
    settings = policy(templates)
    findings = template_findings(settings, ENGINES["kueue"], two.cluster, ABOUT)
    return [(each.about, each.state, each.says, each.remedy) for each in findings]


def test_a_sound_template_says_who_can_use_it(two: TwoClusters) -> None:
    templates = {"dgx": {"gpu_type": "h100"}, "burst": {"cluster": "lab", "gpu_type": "b200"}}
    says = "team-a, team-b can use it: queue team-a/team-a, queue team-b/team-b"
    assert found(two, templates) == [(f"{ABOUT} template dgx", "ok", says, "")]


def test_a_missing_queue_is_found(two: TwoClusters) -> None:
    assert found(two, {"spot": {"queue": "spot", "teams": ["team-a"]}}) == [
        (
            f"{ABOUT} template spot team-a",
            "failed",
            "LocalQueue team-a/spot is missing",
            "Create it, or set templates.spot.queue or templates.spot.teams.",
        )
    ]


def test_a_type_that_no_queue_has_is_found(two: TwoClusters) -> None:
    assert found(two, {"dgx": {"gpu_type": "b200", "teams": ["team-a"]}}) == [
        (
            f"{ABOUT} template dgx team-a",
            "failed",
            "ClusterQueue team-a has no GPU type b200; it has h100",
            "Correct templates.dgx.gpu_type.",
        )
    ]


def test_a_template_of_no_team_is_found(two: TwoClusters) -> None:
    settings = policy({"idle": {}})
    teams = {"team-a": settings.teams["team-a"].model_copy(update={"clusters": ("lab",)})}
    settings = settings.model_copy(update={"teams": teams})
    findings = template_findings(settings, ENGINES["kueue"], two.cluster, ABOUT)
    assert [each.says for each in findings] == [
        "no team has cluster default, so no run can name it"
    ]


def test_a_queue_of_multikueue_is_warned_of(two: TwoClusters) -> None:
    for name, controller in (("fleet", "multikueue"), ("nodes", "provisioning-request")):
        check = {"spec": {"controllerName": f"kueue.x-k8s.io/{controller}"}}
        two.world.create("admissionchecks", {"metadata": {"name": name}, **check})
    checks = [{"name": "nodes"}, {"name": "fleet"}, {"name": "absent"}]
    strategy = {"admissionChecksStrategy": {"admissionChecks": checks}}
    two.world.patch("clusterqueues", "team-a", {"spec": strategy})
    findings = ENGINES["kueue"].check_teams(two.policy.teams, two.cluster, ABOUT)
    assert [(each.about, each.says) for each in findings if each.state == "warning"] == [
        (
            f"{ABOUT} team-a",
            (
                "ClusterQueue team-a sends runs to other clusters (MultiKueue, AdmissionCheck"
                " fleet), where the bot does not see their pods"
            ),
        )
    ]
