"""The playground refuses what Kubernetes and Kueue refuse, and in their words."""

from tests.playground.cluster.refusals import RUNTIMES, answer_to, cases, runtime
from tests.playground.cluster.served import Served


def test_refusals_are_those_of_the_real_cluster(served: Served) -> None:
    for operator in ("mpi-operator", "trainer", "snapshots"):
        served.cluster.install(operator)
    served.post(RUNTIMES, runtime())
    wanted = {case.says: case.answer for case in cases()}
    assert {case.says: answer_to(case, served.admin) for case in cases()} == wanted


def test_most_cases_are_refusals() -> None:
    codes = [case.answer[0] for case in cases()]
    assert (codes.count(403) > 60, codes.count(422) > 30, codes.count(200) > 20) == (True,) * 3
