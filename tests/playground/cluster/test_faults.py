import socket
import time

import httpx
import pytest

from playground.cluster.story import training_job
from playground.ledger import Fault
from tests.playground.cluster.served import BOT_TOKEN, JOBS, MAPS, PODS, Served, config_map, refusal

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def test_requests_of_the_bot_are_recorded(served: Served) -> None:
    served.bot.get(PODS)
    served.bot.post(JOBS, json=training_job("lane", 1))
    served.bot.delete(f"{JOBS}/lane", params={"propagationPolicy": "Background"})
    served.bot.post(REVIEWS, json={"spec": {}})
    served.bot.get("/version")
    assert [(r.service, r.name, r.about, r.number) for r in served.ledger.requests] == [
        ("kubernetes", "list pods", "team-a", None),
        ("kubernetes", "create jobs", "team-a/lane", 1),
        ("kubernetes", "delete jobs", "team-a/lane", 2),
        ("kubernetes", "create selfsubjectaccessreviews", "", None),
        ("kubernetes", "get /version", "", None),
    ]


def test_requests_of_others_are_not_recorded(served: Served) -> None:
    served.post(MAPS, config_map("settings"))
    assert served.ledger.requests == []


def test_refused_request_has_no_effect(served: Served) -> None:
    served.ledger.by_name["create configmaps"] = [Fault.REFUSE]
    with pytest.raises(httpx.RemoteProtocolError):
        served.bot.post(MAPS, json=config_map("settings"))
    assert served.cluster.get("configmaps", "settings", "team-a") is None
    assert served.bot.post(MAPS, json=config_map("settings")).status_code == 201


def test_lost_answer_leaves_its_effect(served: Served) -> None:
    served.ledger.by_number[1] = Fault.LOSE_ANSWER
    with pytest.raises(httpx.RemoteProtocolError):
        served.bot.post(MAPS, json=config_map("settings"))
    again = served.bot.post(MAPS, json=config_map("settings"))
    assert refusal(again)[:2] == (409, "AlreadyExists")


def test_request_cut_in_its_middle_has_no_effect(served: Served) -> None:
    served.post(MAPS, config_map("settings"))
    host, port = served.url.removeprefix("http://").split(":")
    head = f"DELETE {MAPS}/settings HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n"
    with socket.create_connection((host, int(port))) as dying:
        dying.sendall(f"{head}authorization: Bearer {BOT_TOKEN}\r\n\r\n".encode())
    assert served.bot.get(f"{MAPS}/settings").status_code == 200
    assert [request.name for request in served.ledger.requests] == ["get configmaps"]


def test_kill_is_asked_for_before_the_effect(served: Served) -> None:
    killed: list[str] = []

    async def kill() -> None:
        killed.append("bot")

    served.ledger.kill = kill
    served.ledger.by_number[1] = Fault.KILL_BEFORE
    with pytest.raises(httpx.RemoteProtocolError):
        served.bot.post(MAPS, json=config_map("settings"))
    assert killed == ["bot"]
    assert served.cluster.get("configmaps", "settings", "team-a") is None


def test_unavailable_server_answers_503_to_the_bot(served: Served) -> None:
    served.cluster.faults.unavailable = True
    answer = served.bot.get(PODS)
    assert refusal(answer)[:2] == (503, "ServiceUnavailable")
    assert served.admin.get(PODS).status_code == 200


def test_resetting_server_closes_connections(served: Served) -> None:
    served.cluster.faults.reset = True
    with pytest.raises(httpx.RemoteProtocolError):
        served.bot.get(PODS)


def test_server_that_is_down_refuses_connections(served: Served) -> None:
    async def down() -> None:
        served.cluster.go_down()

    served.runner.run(down())
    with pytest.raises(httpx.ConnectError):
        served.client("x").get("/version")
    served.runner.run(served.cluster.come_up())
    assert served.bot.get("/version").status_code == 200


def test_throttled_request_is_told_when_to_return(served: Served) -> None:
    served.cluster.faults.too_many = 1
    served.cluster.faults.retry_after_seconds = 7
    answer = served.bot.get(PODS)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")
    assert answer.json()["reason"] == "TooManyRequests"
    assert served.bot.get(PODS).status_code == 200


def test_forced_conflict_spends_itself_on_one_patch(served: Served) -> None:
    served.post(MAPS, config_map("settings"))
    served.cluster.faults.conflicts = 1
    headers = {"content-type": "application/merge-patch+json"}
    codes = [
        served.bot.patch(f"{MAPS}/settings", json={"data": {"a": "1"}}, headers=headers).status_code
        for _ in range(2)
    ]
    assert codes == [409, 200]


@pytest.mark.parametrize("is_done", [False, True])
def test_etcd_times_out_before_or_after_write(served: Served, *, is_done: bool) -> None:
    faults = served.cluster.faults
    faults.etcd_timeouts, faults.etcd_timeouts_after = (0, 1) if is_done else (1, 0)
    answer = served.bot.post(MAPS, json=config_map("settings"))
    told = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    told |= {"message": "etcdserver: request timed out"}
    assert (answer.status_code, answer.json()) == (500, {**told, "code": 500})
    assert served.bot.get(f"{MAPS}/settings").status_code == (200 if is_done else 404)


def test_slow_server_answers_late(served: Served) -> None:
    served.cluster.faults.slow_seconds = 0.2
    began = time.monotonic()
    assert served.bot.get(PODS).status_code == 200
    assert time.monotonic() - began >= 0.2
