"""The control API: acting by HTTP, and what it says to wrong names; no bot is needed."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from playground.ledger import Fault
from playground.opening import opened
from playground.settings import Setup
from playground.slack.people import BOT_USER, Message
from playground.slack.posting import post
from playground.world import Options, World


def asked(
    tmp_path: Path,
    ask: Callable[[World, httpx.AsyncClient], Awaitable[None]],
    setup: Setup | None = None,
) -> None:
    async def run() -> None:
        async with (
            opened(Options(tmp_path, setup or Setup())) as world,
            httpx.AsyncClient(base_url=world.addresses.control, trust_env=False) as client,
        ):
            await ask(world, client)

    asyncio.run(run())


def error_of(response: httpx.Response) -> tuple[int, str]:
    told: dict[str, Any] = response.json()
    return response.status_code, told["error"]


def test_wrong_names_are_answered_with_suggestions(tmp_path: Path) -> None:
    async def ask(_world: World, client: httpx.AsyncClient) -> None:
        said = {"person": "Alcie", "channel": "#team-a", "text": "/train list"}
        assert error_of(await client.post("/say", json=said)) == (
            404,
            "there is no person Alcie; did you mean Alice?",
        )
        said = {"person": "Alice", "channel": "#team-aa", "text": "/train list"}
        assert error_of(await client.post("/say", json=said)) == (
            404,
            "there is no channel #team-aa; did you mean team-a?",
        )
        assert error_of(await client.post("/bot", json={"do": "kil"})) == (
            400,
            "the bot cannot kil; did you mean kill?",
        )
        assert error_of(await client.post("/sya", json={})) == (
            404,
            "there is no route POST /sya; did you mean POST /say?",
        )
        assert error_of(await client.post("/clock", json={"forward": "soon"})) == (
            400,
            "soon is not a duration like 90s, 1h30m or 3d",
        )
        assert error_of(await client.post("/say", content="nothing")) == (
            400,
            "the body is not JSON: Expecting value: line 1 column 1 (char 0)",
        )

    asked(tmp_path, ask)


def test_pages_of_other_hosts_may_not_act(tmp_path: Path) -> None:
    async def ask(world: World, client: httpx.AsyncClient) -> None:
        for headers, words in (
            (
                {"host": "evil.example"},
                "Only this machine may ask: use the address with 127.0.0.1.",
            ),
            ({"origin": "http://evil.example"}, "Another page may not ask."),
        ):
            refused = await client.post("/slack", json={"is": "down"}, headers=headers)
            assert error_of(refused) == (403, words)
        assert world.slack.faults.down is None

    asked(tmp_path, ask)


def test_typing_without_a_bot_shows_slacks_own_error(tmp_path: Path) -> None:
    async def ask(_world: World, client: httpx.AsyncClient) -> None:
        said = {"person": "Alice", "channel": "#team-a", "text": "/train list"}
        answer = await client.post("/say", json=said)
        assert answer.json() == {"shown": ['/train failed with the error "dispatch_failed"']}
        said = {"person": "Bob", "channel": "#team-a", "text": "hello"}
        assert error_of(await client.post("/say", json=said)) == (409, "Bob is not in team-a")

    asked(tmp_path, ask)


def test_files_are_dropped_by_http(tmp_path: Path) -> None:
    async def ask(world: World, client: httpx.AsyncClient) -> None:
        said = {"person": "Alice", "channel": "#team-a", "files": {"labels.csv": "a,b"}}
        dropped = (await client.post("/drop", json=said)).json()
        (message,) = world.slack.channels["C0TEAMA"].messages
        assert (message.ts, world.slack.text_of(message)) == (
            dropped["ts"], "[file: labels.csv, 3 bytes]",
        )  # fmt: skip
        assert error_of(await client.post("/drop", json=said | {"files": {"empty.csv": ""}})) == (
            409, "empty.csv is empty, which Slack does not take",
        )  # fmt: skip
        assert error_of(await client.post("/drop", json=said | {"files": "labels.csv"})) == (
            400, '"files" must be an object of texts by the name of the file',
        )  # fmt: skip

    asked(tmp_path, ask)


def test_channels_are_shown_as_one_person_sees_them(tmp_path: Path) -> None:
    async def ask(world: World, client: httpx.AsyncClient) -> None:
        post(world.slack, Message("C0TEAMA", "", BOT_USER, "for all"))
        post(world.slack, Message("C0TEAMA", "", BOT_USER, "for Carol", viewer="U0CAROL"))
        seen = (await client.get("/channels/team-a", params={"as": "Alice"})).json()["messages"]
        assert [message["text"] for message in seen] == ["for all"]
        seen = (await client.get("/channels/team-a", params={"as": "Carol"})).json()["messages"]
        assert [(m["text"], m["only"]) for m in seen] == [("for all", None), ("for Carol", "Carol")]
        click = {"person": "Carol", "channel": "team-a", "label": "Approve"}
        assert error_of(await client.post("/click", json=click)) == (
            404,
            "no message there has a button Approve",
        )
        assert "for all" in (await client.get("/page")).text

    asked(tmp_path, ask)


def test_faults_and_behaviours_wait_for_the_bot(tmp_path: Path) -> None:
    async def ask(world: World, client: httpx.AsyncClient) -> None:
        await client.post("/fault", json={"fault": "kill-after", "number": 3})
        await client.post("/fault", json={"fault": "refuse", "name": "chat.update"})
        assert world.ledger.by_number == {3: Fault.KILL_AFTER}
        assert world.ledger.by_name == {"chat.update": [Fault.REFUSE]}
        assert error_of(await client.post("/fault", json={"fault": "kill"}))[0] == 400
        await client.put("/behaviour", json={"image": "acme/lane", "seconds_per_epoch": 5})
        assert world.cluster.behaviours["acme/lane"].seconds_per_epoch == 5
        wrong = await client.put("/behaviour", json={"image": "acme/lane", "speed": 5})
        assert wrong.status_code == 400

    asked(tmp_path, ask)


def test_operators_and_nature_are_moved_by_http(tmp_path: Path) -> None:
    async def ask(world: World, client: httpx.AsyncClient) -> None:
        await client.post("/install", json={"operator": "mpi-operator"})
        assert world.cluster.inside.operators == {"mpi-operator"}
        assert error_of(await client.post("/install", json={"operator": "mpi-operater"})) == (
            404,
            "there is no operator mpi-operater; did you mean mpi-operator?",
        )
        await client.post("/nature", json={"do": "lose_node", "name": "gpu-1"})
        assert world.cluster.inside.kubelet.lost_nodes == {"gpu-1"}
        assert error_of(await client.post("/nature", json={"do": "loose_node"})) == (
            400,
            "nature cannot loose_node; did you mean lose_node?",
        )
        wrong = await client.post("/nature", json={"do": "lose_node", "node": "gpu-1"})
        assert wrong.status_code == 400

    asked(tmp_path, ask)


def test_clock_answers_when_time_has_moved(tmp_path: Path) -> None:
    async def ask(world: World, client: httpx.AsyncClient) -> None:
        first = (await client.get("/clock", params={"after": "-1"})).json()
        assert first == {"offset_seconds": 0}
        waiting = asyncio.ensure_future(client.get("/clock", params={"after": "0"}))
        await world.changes.pass_by(0.05)
        assert not waiting.done()
        await world.clock.move_to(world.clock.now() + world.pace.clock.offset.resolution * 10**7)
        moved = (await waiting).json()["offset_seconds"]
        assert 0 < moved <= 10
        assert moved == world.clock.offset.total_seconds()

    asked(tmp_path, ask)


def test_gpus_idle_and_break_by_hand(tmp_path: Path) -> None:
    async def ask(world: World, client: httpx.AsyncClient) -> None:
        assert world.metrics is not None
        for body in ({"run": "lane", "busy": [0.9, 0]}, {"node": "gpu-1", "gpu": 3, "xid": 79}):
            assert (await client.post("/gpus", json=body)).json() == body
        assert error_of(await client.post("/gpus", json={"run": "lane", "busy": [90]})) == (
            400,
            '"busy" must be shares of the time, like [0.9, 0]',
        )
        broken = {"node": "gpu-9", "gpu": 3, "xid": 79}
        assert error_of(await client.post("/gpus", json=broken)) == (
            404,
            "there is no GPU 3 on a node gpu-9",
        )
        [prometheus] = world.metrics.of.values()
        for state, is_away in (("down", True), ("up", False)):
            assert (await client.post("/prometheus", json={"is": state})).status_code == 200
            assert prometheus.past.is_away is is_away
        assert error_of(await client.post("/prometheus", json={"is": "gone"})) == (
            400,
            "Prometheus cannot be gone; there is: down, up",
        )

    asked(tmp_path, ask, Setup(prometheus=True))


def test_without_a_prometheus_there_is_none(tmp_path: Path) -> None:
    async def ask(_world: World, client: httpx.AsyncClient) -> None:
        assert error_of(await client.post("/prometheus", json={"is": "down"})) == (
            404,
            "this world has no Prometheus",
        )

    asked(tmp_path, ask)
