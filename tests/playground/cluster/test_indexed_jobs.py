from typing import Any

import pytest

from playground.cluster.control.training import Training
from playground.cluster.story import training_job
from tests.playground.cluster.served import JOBS, PODS, Object, Served, conditions, refusal

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
LAUNCHER = {"rules": [{"succeededIndexes": "0", "succeededCount": 1}]}


def indexed(completions: int, gpus: int = 1, **spec: Any) -> Object:
    spec |= {"completions": completions, "parallelism": completions}
    return training_job("lane", gpus, completionMode="Indexed", **spec)


def submit(served: Served, completions: int, **spec: Any) -> Object:
    return served.post(JOBS, indexed(completions, **spec))


def refused(served: Served, body: Object) -> str:
    code, reason, message = refusal(served.admin.post(JOBS, json=body))
    assert (code, reason) == (422, "Invalid")
    return message.removeprefix('Job.batch "lane" is invalid: ')


def indexes(served: Served) -> list[str]:
    return sorted(pod["metadata"]["annotations"][INDEX] for pod in served.pods())


def ends_badly(served: Served, code: int = 3) -> None:
    served.cluster.behaviours["lane"] = Training(fails_after=5, exit_code=code)


def scale(served: Served, completions: int, parallelism: int) -> Any:
    change = {"spec": {"completions": completions, "parallelism": parallelism}}
    return served.patch(f"{JOBS}/lane", change)


def test_pods_know_their_index_and_host(served: Served) -> None:
    submit(served, 2)
    first, second = sorted(served.pods(), key=lambda pod: str(pod["metadata"]["name"]))
    assert first["metadata"]["generateName"] == "lane-0-"
    assert second["metadata"]["labels"][INDEX] == second["metadata"]["annotations"][INDEX] == "1"
    assert second["spec"]["hostname"] == "lane-1"
    assert second["spec"]["containers"][0]["env"] == [
        {
            "name": "JOB_COMPLETION_INDEX",
            "valueFrom": {
                "fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}
            },
        }
    ]


def test_indexed_job_scales_up_and_down(served: Served) -> None:
    submit(served, 2)
    served.pass_time(10)
    assert scale(served, 4, 4).status_code == 200
    assert indexes(served) == ["0", "1", "2", "3"]
    served.pass_time(10)
    assert scale(served, 1, 1).status_code == 200
    status = served.job()["status"]
    assert (status["active"], status["ready"], status["terminating"]) == (1, 1, 3)
    served.pass_time(40)
    assert indexes(served) == ["0"]
    assert "failed" not in served.job()["status"]


def test_scaling_down_forgets_indexes_beyond(served: Served) -> None:
    served.cluster.behaviours["lane"] = Training(epochs=1, seconds_per_epoch=60)
    served.cluster.behaviours["lane-3"] = Training(never_ends=True)
    submit(served, 4)
    served.pass_time(90)
    assert served.job()["status"]["completedIndexes"] == "0-2"
    assert scale(served, 2, 2).status_code == 200
    status = served.job()["status"]
    assert (status["completedIndexes"], status["succeeded"]) == ("0,1", 2)
    served.pass_time(10)
    assert conditions(served.job())["Complete"][1] == "CompletionsReached"


def test_completions_alone_may_not_change(served: Served) -> None:
    submit(served, 2)
    code, reason, message = refusal(scale(served, 3, 2))
    assert (code, reason) == (422, "Invalid")
    assert message == (
        'Job.batch "lane" is invalid: spec.completions: Invalid value: 3: can only be modified '
        "in tandem with spec.parallelism"
    )


def test_job_without_indexes_does_not_scale(served: Served) -> None:
    served.post(JOBS, training_job("lane", 1, completions=2, parallelism=2))
    assert refusal(scale(served, 3, 3))[2] == (
        'Job.batch "lane" is invalid: spec.completions: Invalid value: 3: field is immutable'
    )


def test_fewer_parallel_pods_end_the_youngest(served: Served) -> None:
    submit(served, 2)
    served.pass_time(10)
    assert scale(served, 3, 3).status_code == 200
    served.pass_time(10)
    served.patch(f"{JOBS}/lane", {"spec": {"parallelism": 2}})
    served.pass_time(10)
    assert indexes(served) == ["0", "1"]


def test_scheduling_may_change_while_suspended(served: Served) -> None:
    submit(served, 2, suspend=True)
    metadata = {"labels": {"a": "b"}}
    pods = {"spec": {"template": {"metadata": metadata, "spec": {"nodeSelector": {"x": "y"}}}}}
    assert served.patch(f"{JOBS}/lane", pods).status_code == 200
    image = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 5}}}}
    message = refusal(served.patch(f"{JOBS}/lane", image))[2]
    assert message.endswith("}: field is immutable")


def test_each_index_has_a_limit_of_its_own(served: Served) -> None:
    ends_badly(served)
    submit(served, 2, backoffLimitPerIndex=1, backoffLimit=None)
    assert served.job()["spec"]["backoffLimit"] == 2_147_483_647
    served.pass_time(9)
    assert served.job()["status"]["failed"] == 2
    served.pass_time(11)
    live = [p for p in served.pods() if p["status"]["phase"] != "Failed"]
    assert {p["metadata"]["annotations"][FAILURES] for p in live} == {"1"}
    served.pass_time(20)
    why = ("True", "FailedIndexes", "Job has failed indexes")
    assert conditions(served.job()) == {"FailureTarget": why, "Failed": why}
    assert served.job()["status"]["failedIndexes"] == "0,1"


def test_too_many_failed_indexes_end_a_job(served: Served) -> None:
    ends_badly(served)
    submit(served, 3, backoffLimitPerIndex=0, maxFailedIndexes=1, backoffLimit=None)
    served.pass_time(30)
    assert conditions(served.job())["Failed"] == (
        "True",
        "MaxFailedIndexesExceeded",
        "Job has exceeded the specified maximal number of failed indexes",
    )


def test_failure_policy_gives_up_one_index(served: Served) -> None:
    ends_badly(served, 42)
    codes = {"operator": "In", "values": [42]}
    rules = [{"action": "FailIndex", "onExitCodes": codes}]
    submit(served, 2, backoffLimitPerIndex=5, podFailurePolicy={"rules": rules}, backoffLimit=None)
    served.pass_time(30)
    assert served.job()["status"]["failedIndexes"] == "0,1"
    assert conditions(served.job())["Failed"][1] == "FailedIndexes"


def test_success_policy_ends_endless_workers(served: Served) -> None:
    served.cluster.behaviours["lane-0"] = Training(epochs=1, seconds_per_epoch=30)
    served.cluster.behaviours["lane"] = Training(never_ends=True, stop_seconds=10)
    submit(served, 3, successPolicy=LAUNCHER)
    served.pass_time(38)
    why = ("True", "SuccessPolicy", "Matched rules at index 0")
    assert conditions(served.job()) == {"SuccessCriteriaMet": why}
    assert served.job()["status"]["terminating"] == 2
    served.pass_time(20)
    assert conditions(served.job()) == {"SuccessCriteriaMet": why, "Complete": why}
    assert "failed" not in served.job()["status"]


def test_deadline_counts_running_pods_as_failed(served: Served) -> None:
    served.cluster.behaviours["lane"] = Training(never_ends=True)
    submit(served, 2, activeDeadlineSeconds=60)
    served.pass_time(70)
    assert conditions(served.job())["Failed"][1] == "DeadlineExceeded"
    assert served.job()["status"]["failed"] == 2


def test_deadline_starts_anew_after_a_suspension(served: Served) -> None:
    served.cluster.behaviours["lane"] = Training(never_ends=True)
    submit(served, 1, activeDeadlineSeconds=60)
    served.pass_time(50)
    served.patch(f"{JOBS}/lane", {"spec": {"suspend": True}})
    served.pass_time(600)
    assert "startTime" not in served.job()["status"]
    served.patch(f"{JOBS}/lane", {"spec": {"suspend": False}})
    served.pass_time(50)
    assert served.job()["status"]["active"] == 1
    served.pass_time(15)
    assert conditions(served.job())["Failed"][1] == "DeadlineExceeded"


def test_restarts_in_a_pod_count_too(served: Served) -> None:
    ends_badly(served)
    body = indexed(1)
    body["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    served.post(JOBS, body)
    served.pass_time(120)
    assert conditions(served.job())["Failed"][1] == "BackoffLimitExceeded"


def test_deleted_pod_counts_when_told_to_end(served: Served) -> None:
    served.cluster.behaviours["lane"] = Training(never_ends=True, stop_seconds=20)
    submit(served, 1)
    served.pass_time(10)
    served.admin.delete(f"{PODS}/{served.pods()[0]['metadata']['name']}")
    status = served.job()["status"]
    assert (status["failed"], status["terminating"]) == (1, 1)


def test_own_pod_name_keeps_its_index(served: Served) -> None:
    name = "a" * 60
    body = indexed(2)
    body["metadata"]["name"] = name
    served.post(JOBS, body)
    stems = {pod["metadata"]["generateName"] for pod in served.pods(name)}
    assert stems == {f"{'a' * 55}-0-", f"{'a' * 55}-1-"}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            {"completionMode": "Indexed", "parallelism": 2},
            "spec.completions: Required value: when completion mode is Indexed",
        ),
        (
            {"backoffLimitPerIndex": 1},
            "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
        ),
        (
            {"maxFailedIndexes": 1, "completionMode": "Indexed", "completions": 2},
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
        ),
        (
            {"parallelism": -1},
            "spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {"successPolicy": {"rules": [{"succeededCount": 1}]}},
            (
                'spec.successPolicy: Invalid value: {"rules":[{"succeededCount":1}]}: requires '
                "indexed completion mode"
            ),
        ),
        (
            {
                "completionMode": "Indexed",
                "completions": 2,
                "successPolicy": {"rules": [{"succeededIndexes": "2"}]},
            },
            (
                'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "2": error parsing '
                'succeededIndexes: too large index: "2"'
            ),
        ),
        (
            {
                "podFailurePolicy": {
                    "rules": [{"action": "FailIndex", "onPodConditions": [{"type": "X"}]}]
                }
            },
            (
                'spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the '
                "backoffLimitPerIndex to be set"
            ),
        ),
        (
            {
                "podReplacementPolicy": "TerminatingOrFailed",
                "podFailurePolicy": {
                    "rules": [{"action": "Ignore", "onPodConditions": [{"type": "X"}]}]
                },
            },
            (
                'spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported '
                'values: "Failed"'
            ),
        ),
    ],
)
def test_wrong_specs_are_refused_in_words(served: Served, spec: Object, words: str) -> None:
    assert refused(served, training_job("lane", 1, **spec)) == words


def test_restart_policy_has_to_be_chosen(served: Served) -> None:
    body = indexed(1)
    del body["spec"]["template"]["spec"]["restartPolicy"]
    assert refused(served, body) == (
        'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'
    )


def test_name_too_long_for_hosts_is_refused(served: Served) -> None:
    body = indexed(100)
    body["metadata"]["name"] = "a" * 61
    message = refusal(served.admin.post(JOBS, json=body))[2]
    assert message.endswith(f"will not able to create pod with invalid DNS label: {'a' * 61}-99")
