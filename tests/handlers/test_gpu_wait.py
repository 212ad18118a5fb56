"""/gpu wait: to be told when GPUs are free, what one waits for, and to wait no longer."""

import re

from sqlmodel import col, select

from bot.gpus.waits.tables import GpuWait
from playground.cluster.story import training_job
from tests.bot.cluster.api.api_server import eventually
from tests.handlers.command_client import ALICE, BOB, DAN, MIA, TEAM_A, CommandClient
from tests.playground.cluster.served import Served

_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")


def says(client: CommandClient, person: str, text: str, place: str = TEAM_A) -> str:
    """The answer, its times left out."""
    return _TIME.sub("TIME", client.says(person, place, text))


def rows(client: CommandClient) -> list[tuple[str, str, str, str]]:
    chosen = select(GpuWait).order_by(col(GpuWait.id))
    found = client.application.database.read(lambda s: s.scalars(chosen).all())
    return [(row.person, f"{row.wanted:f}", row.gpu_type, row.phase) for row in found]


def fill(client: CommandClient, served: Served) -> None:
    """Team-b uses 8 of the 12 GPUs that there is quota for."""
    served.cluster.create("jobs", training_job("theirs", 8, "team-b", epochs=900), "team-b")
    # Nominal, and in use.
    eventually(lambda: re.search(r"h100 +8 +8 ", client.says(BOB, "C0TEAMB", "/quota status")))


def test_free_gpus_are_answered_at_once(client: CommandClient) -> None:
    assert says(client, ALICE, "/gpu wait 6 --type h100") == (
        "6 GPUs of h100 are free for team-a already: 12 can be used now, 8 of them borrowed.\n"
        "`/train submit lane --gpu-type h100 ...` starts a run."
    )
    assert rows(client) == []


def test_a_wait_is_listed_and_ended(client: CommandClient, served: Served) -> None:
    fill(client, served)
    begun = (
        "Waiting for 6 GPUs of h100: 4 can be used now.\n"
        "You get one direct message when they are free for team-a, or when this wait expires,"
        " TIME.\n  [Stop waiting]"
    )
    for _ in range(2):
        assert says(client, ALICE, "/gpu wait 6 --type h100 --for 1d") == begun
    says(client, ALICE, "/gpu wait 8", "D0ALICE")
    says(client, MIA, "/gpu wait 8")
    assert says(client, ALICE, "/gpu wait list", "D0ALICE") == (
        "Waiting for 6 GPUs of h100 for team-a in cluster default since TIME, until TIME.\n"
        "Waiting for 8 GPUs for team-a in cluster default since TIME, until TIME.\n"
        "  [Stop waiting for 6 GPUs of h100] [Stop waiting for 8 GPUs]"
    )
    assert says(client, ALICE, "/gpu wait") == says(client, ALICE, "/gpu wait list")
    assert says(client, ALICE, "/gpu wait off") == (
        "You no longer wait for 6 GPUs of h100 for team-a, 8 GPUs for team-a."
    )
    assert says(client, ALICE, "/gpu wait off") == "You do not wait for GPUs."
    assert says(client, ALICE, "/gpu wait list") == (
        "You do not wait for GPUs. `/gpu wait 4` waits for 4."
    )
    assert rows(client) == [
        (ALICE, "6", "h100", "cancelled"),
        (ALICE, "8", "", "cancelled"),
        (MIA, "8", "", "waiting"),
    ]


def test_one_wait_is_ended_by_its_owner(client: CommandClient, served: Served) -> None:
    fill(client, served)
    says(client, ALICE, "/gpu wait 6")
    says(client, ALICE, "/gpu wait 8")
    six = select(GpuWait.id).where(col(GpuWait.gpus) == 6_000)
    first = client.application.database.read(lambda s: s.scalars(six).one())
    assert client.clicks(MIA, TEAM_A, "gpu.unwait", first) == (
        "@U0ALICE asked for this, and only they can end it."
    )
    ended = "You no longer wait for 6 GPUs for team-a."
    assert client.clicks(ALICE, "D0ALICE", "gpu.unwait", first) == ended
    assert client.clicks(ALICE, "D0ALICE", "gpu.unwait", first) == ended
    assert [phase for *_, phase in rows(client)] == ["cancelled", "waiting"]
    gone = "00000000-0000-0000-0000-000000000000"
    assert client.clicks(ALICE, TEAM_A, "gpu.unwait", gone).startswith("This wait ended more than")


def test_what_cannot_be_is_refused(client: CommandClient) -> None:
    assert says(client, ALICE, "/gpu wait 13").splitlines() == [
        (
            "13 GPUs can never be free for team-a in cluster default: it can use 12 GPUs at most,"
            " borrowed ones included."
        ),
        'Wait for 12 or fewer. `/quota request +1 --for 1d --reason "..."` requests more quota.',
    ]
    assert says(client, ALICE, "/gpu wait 4 --type a100").splitlines() == [
        "team-a has no GPU type a100 in cluster default.",
        "It has: h100.",
    ]
    assert says(client, ALICE, "/gpu wait four").splitlines()[0] == (
        "`COUNT` takes a number of GPUs from 1 to 1024, or a fraction of one such as `0.5`, `list`"
        " or `off`, not `four`."
    )
    assert says(client, ALICE, "/gpu wait 4 --for 30d").splitlines()[0] == (
        "`--for` takes a duration such as `15m`, `8h` or `1d12h`, from 10m to 14d, not `30d`."
    )
    assert says(client, ALICE, "/gpu wait off --type h100").splitlines() == [
        "`--type`, `--for` and `--cluster` only work with a number of GPUs.",
        "`/gpu wait 4 --for 1d` waits for 4 GPUs.",
    ]
    assert rows(client) == []


def test_others_may_not_wait(client: CommandClient) -> None:
    for person in (BOB, DAN):
        said = says(client, person, "/gpu wait 4 --team team-a")
        assert said.startswith(("You are not a member of team-a.", "Guests and people from other"))
