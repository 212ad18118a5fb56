"""Submissions that name compute templates: what is refused, and what is said."""

from datetime import timedelta
from typing import Any

import pytest

from bot.errors import QuartermasterError
from bot.slack.grammar.container_parameters import DataMount, NewVolume, VolumeMount
from bot.training.submission.building import Submission
from bot.training.submission.outlook import outlook_lines
from bot.training.submission.retyping import retyped
from bot.training.templates.candidates import candidates_of
from bot.training.templates.wording import order_words
from playground.cluster.story import claim
from tests.bot.datasets.caches.rows import add_dataset, add_version
from tests.bot.ground import ALICE, ERIN
from tests.bot.training.rig import IMAGE
from tests.bot.training.templates.two_clusters import BOTH, TEMPLATES, TwoClusters, policy

HAS = "It has: dgx, burst, spot."


def refusal(two: TwoClusters, **asked: Any) -> tuple[str, str]:
    two.look()
    with pytest.raises(QuartermasterError) as caught:
        two.submit("wide", **asked)
    assert two.requests_of(two.outside) == []
    return caught.value.message, caught.value.hint


def test_an_unknown_template_is_refused(two: TwoClusters) -> None:
    said = ("team-a has no compute template moon.", HAS)
    assert refusal(two, templates=("dgx", "moon")) == said


def test_a_template_of_others_is_refused(two: TwoClusters) -> None:
    said = ("team-a has no compute template others.", HAS)
    assert refusal(two, templates=("others",)) == said


def test_a_template_of_another_cluster_is_refused(two: TwoClusters) -> None:
    two.policy.teams["team-a"] = two.policy.teams["team-a"].model_copy(
        update={"clusters": ("default",)}
    )
    said = ("team-a has no compute template burst.", "It has: dgx, spot.")
    assert refusal(two, templates=BOTH) == said


def test_without_templates_the_refusal_says_who_helps(two: TwoClusters) -> None:
    two.policy = policy({})
    assert refusal(two, templates=BOTH) == (
        "team-a has no compute template dgx.",
        "It has none. Platform admins define them under `templates` in quartermaster.yaml.",
    )


def test_a_template_named_twice_is_refused(two: TwoClusters) -> None:
    said = ("`--on` names dgx twice.", "Name it once: `--on dgx,burst`.")
    assert refusal(two, templates=("dgx", "burst", "dgx")) == said


def test_a_cluster_beside_templates_is_refused(two: TwoClusters) -> None:
    assert refusal(two, templates=BOTH, cluster="lab") == (
        "`--on` and `--cluster` both say where the run goes.",
        "Leave `--cluster lab` out: each template has its cluster.",
    )


def test_a_time_without_templates_is_refused(two: TwoClusters) -> None:
    assert refusal(two, fallback_after=timedelta(minutes=5)) == (
        "`--fallback-after` says when a run moves on to its next template, and it names none.",
        "Name two or more, for example `--on dgx,burst --fallback-after 30m`.",
    )
    assert refusal(two, templates=("dgx",), fallback_after=timedelta(minutes=5)) == (
        "`--fallback-after` needs a second template to move on to; `--on` names dgx only.",
        "Add one, for example `--on dgx,burst`, or leave `--fallback-after` out.",
    )


def test_a_gpu_type_beside_another_is_refused(two: TwoClusters) -> None:
    assert refusal(two, templates=("dgx",), gpu_type="a100") == (
        "Template dgx has GPUs of type h100, not `--gpu-type a100`.",
        "Leave `--gpu-type` out: each template has its own. `/train templates` lists them.",
    )


def test_a_type_that_a_queue_lacks_is_refused(two: TwoClusters) -> None:
    two.policy = policy({**TEMPLATES, "burst": {"cluster": "lab", "gpu_type": "a100"}})
    message, hint = refusal(two, templates=BOTH)
    assert message == ("Template burst, on cluster lab: ClusterQueue team-a has no GPU type a100.")
    assert hint == (
        "It has: h100 (12 GPUs free). Use one of them, for example `--gpu-type h100`."
        " Or leave burst out: `--on dgx`."
    )


def test_new_volumes_in_two_clusters_are_refused(two: TwoClusters) -> None:
    volume = NewVolume("standard", "100Gi", "/mnt")
    assert refusal(two, templates=BOTH, pvc=(volume,)) == (
        (
            "`--pvc standard:100Gi:/mnt` creates a PVC in one cluster, but this run may start on"
            " default or lab."
        ),
        (
            "Name templates of one cluster: `--on dgx`."
            " Or mount a PVC that exists under the same name in each: `--pvc NAME:/mnt`."
        ),
    )
    two.submit("wide", templates=("dgx",), pvc=(volume,))


def test_a_pvc_missing_in_one_cluster_is_refused(two: TwoClusters) -> None:
    two.world.create("persistentvolumeclaims", claim("results"), "team-a")
    pvc = (VolumeMount("results", "/mnt", read_only=False),)
    message, hint = refusal(two, templates=BOTH, pvc=pvc)
    assert message == ("Template burst, on cluster lab: Namespace team-a has no PVC results.")
    assert hint == "It has: imagenet, team-a-data. Or leave burst out: `--on dgx`."
    two.other.cluster.create("persistentvolumeclaims", claim("results"), "team-a")
    two.look()
    two.submit("wide", templates=BOTH, pvc=pvc)


def test_data_on_another_cluster_is_refused(two: TwoClusters) -> None:
    two.policy = policy(stores={"lake": {"shared": ["s3://lake/"]}}, datasets=_DATASETS)
    two.do(lambda session: add_version(session, add_dataset(session)))
    data = (DataMount("chest-xray@v3", "/data"),)
    message, hint = refusal(two, templates=("burst", "dgx"), data=data)
    assert message == (
        "Template burst, on cluster lab: Datasets are cached on cluster default, but this is for"
        " cluster lab."
    )
    assert hint == "Add `--cluster default`. Or leave burst out: `--on dgx`."


_DATASETS = {
    "namespace": "quartermaster",
    "image": "ghcr.io/acme/quartermaster:1",
    "state_store": "lake",
    "state": "s3://lake/state/",
    "classes": {"standard": {}},
}


def test_costly_runs_are_for_leads(two: TwoClusters) -> None:
    two.policy = policy({**TEMPLATES, "burst": {**TEMPLATES["burst"], "leads_above": 20}})
    assert refusal(two, templates=BOTH, gpus=8) == (
        (
            "On template burst, this run costs 36.00 USD an hour; above 20.00 USD an hour,"
            " only leads and admins can submit a run to it."
        ),
        "Ask a lead of the team to submit it, request fewer GPUs, or leave the template out.",
    )
    two.submit("small", templates=BOTH, gpus=4)
    two.submit("none", templates=BOTH, gpus=0)
    two.submit("wide", ERIN, templates=BOTH, gpus=8)


def test_an_unknown_cost_is_for_leads(two: TwoClusters) -> None:
    two.policy = policy({"burst": {"cluster": "lab", "leads_above": 20}})
    message, _ = refusal(two, templates=("burst",), gpus=1)
    assert message == (
        "What this run costs on template burst is unknown; above 20.00 USD an hour, only leads and"
        " admins can submit a run to it."
    )


def test_a_member_cannot_resubmit_a_costly_run(two: TwoClusters) -> None:
    two.policy = policy({**TEMPLATES, "burst": {**TEMPLATES["burst"], "leads_above": 20}})
    run_id = two.submit("wide", ERIN, templates=BOTH, gpus=8)
    two.stop(run_id, ERIN)
    two.run()
    with pytest.raises(QuartermasterError) as caught:
        two.resubmit("wide", ALICE)
    assert caught.value.message.startswith("On template burst, this run costs 36.00 USD an hour;")


def test_prices_of_flavors_count_without_own(two: TwoClusters) -> None:
    prices = {"per_gpu_hour": {"h100": 3}, "currency": "EUR"}
    two.policy = policy({"plain": {"cluster": "lab"}}, training={"prices": prices})
    two.look()
    run_id = two.submit("wide", templates=("plain",), gpus=2)
    assert [each.price for each in candidates_of(two.get(run_id))] == ["6.00 EUR an hour"]


def test_the_outlook_names_the_price_of_each(two: TwoClusters) -> None:
    two.look()
    asked = Submission("wide", image=IMAGE, gpus=2, templates=BOTH)  # type: ignore[arg-type]
    by = two.caller()
    outlook = two.do(lambda session: two.service.foresee(session, by, asked))
    said = list(map(str, outlook_lines(outlook, two.words)))
    assert said[-2:] == [
        "1. It waits on dgx (queue team-a of cluster default) for 10m. It costs 4.00 USD an hour.",
        (
            "2. It waits on burst (queue team-a of cluster lab) until it is admitted."
            " It costs 9.00 USD an hour."
        ),
    ]


def test_a_node_selector_is_set_on_pods(two: TwoClusters) -> None:
    two.policy = policy({"slow": {"node_selector": {"disk": "hdd"}}})
    run_id = two.submit("wide", templates=("slow",))
    two.run()
    assert two.job(run_id)["spec"]["template"]["spec"]["nodeSelector"]["disk"] == "hdd"


def test_a_run_is_typed_again_with_its_templates(two: TwoClusters) -> None:
    run_id = two.submit("wide", templates=BOTH, gpus=2, fallback_after=timedelta(hours=2))
    typed = retyped(two.get(run_id), two.policy.teams["team-a"])
    assert dict(typed) == {
        "name": ("wide",),
        "image": (IMAGE,),
        "gpus": ("2",),
        "templates": ("dgx,burst",),
        "fallback_after": ("2h",),
        "command": ("python", "train.py", "--epochs", "3"),
    }


def test_a_template_that_is_gone_stops_resubmission(two: TwoClusters) -> None:
    run_id = two.submit("wide", templates=BOTH)
    two.stop(run_id)
    two.run()
    two.policy = policy({"dgx": TEMPLATES["dgx"]})
    with pytest.raises(QuartermasterError) as caught:
        two.resubmit("wide")
    said = ("team-a has no compute template burst.", "It has: dgx.")
    assert (caught.value.message, caught.value.hint) == said


def test_a_resubmitted_run_uses_todays_template(two: TwoClusters) -> None:
    two.policy = policy({"slow": {"node_selector": {"disk": "hdd"}, "after": "1h"}})
    run_id = two.submit("wide", templates=("slow",))
    two.stop(run_id)
    two.run()
    two.policy = policy({"slow": {"node_selector": {"disk": "ssd"}, "gpu_type": "h100"}})
    (place,) = candidates_of(two.get(two.resubmit("wide")))
    assert (place.spec.node_selector, place.spec.gpu_type) == ({"disk": "ssd"}, "h100")
    assert place.after == timedelta(minutes=30)


def test_one_template_is_said_without_number(two: TwoClusters) -> None:
    run_id = two.submit("wide", templates=("burst",), gpus=1)
    assert list(order_words(candidates_of(two.get(run_id)))) == [
        (
            "It waits on burst (queue team-a of cluster lab) until it is admitted."
            " It costs 4.50 USD an hour."
        )
    ]
