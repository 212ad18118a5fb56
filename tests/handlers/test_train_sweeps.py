"""/train submit --sweep as people use it."""

import pytest
from sqlmodel import select

from bot.training.sweeps.tables import Sweep
from bot.training.tables import Run
from tests.handlers.command_client import ALICE, BOB, MIA, TEAM_A, CommandClient, question
from tests.handlers.filled_forms import foreseen, opened, sent, used
from tests.handlers.test_train import plainly, work
from tests.handlers.test_train_curves import measured

IMAGE = "--image ghcr.io/acme/lane:3.1"
GRID = "--sweep lr=0.1,0.01 --sweep bs=32,64"
COMMAND = "-- python train.py --lr {lr} --bs {bs}"
SUBMIT = f"/train submit wide {IMAGE} --gpus 1 {GRID} --at-most 2 {COMMAND}"
RECEIPT = [
    "Submitted sweep `wide` for team-a.",
    "4 cells of 1 GPU each, 4 GPUs in total; at most 2 at once, 2 GPUs.",
    "Its card in this channel follows it. `/train stop wide` stops it.",
]


def names(client: CommandClient) -> list[str]:
    """The names of all runs, in order."""
    found = client.application.database.read(lambda s: s.exec(select(Run)).all())
    return sorted(run.reference for run in found)


def only(client: CommandClient) -> Sweep:
    """The one sweep there is."""
    return client.application.database.read(lambda s: s.exec(select(Sweep)).one())


def refused(client: CommandClient, options: str, command: str = COMMAND) -> list[str]:
    """The answer to a sweep that is refused: nothing is written."""
    said = client.says(ALICE, TEAM_A, f"/train submit wide {IMAGE} {options} {command}")
    assert names(client) == []
    return said.splitlines()


def test_a_receipt_counts_cells_and_gpus(client: CommandClient) -> None:
    assert client.says(ALICE, TEAM_A, SUBMIT).splitlines() == RECEIPT
    work(client)
    assert names(client) == ["wide-1", "wide-2"]
    assert "--lr 0.1 --bs 64" in client.says(ALICE, TEAM_A, "/train show wide-2")


def test_a_sweep_is_shown_by_its_name(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    work(client)
    assert plainly(client.says(ALICE, TEAM_A, "/train show wide")) == [
        "⏳ Sweep wide · Waiting",
        "4 cells: 2 waiting, 2 not submitted yet.",
        "  Image      `ghcr.io/acme/lane:3.1`",
        "  GPUs       1 GPU for each cell",
        "  At once    2 at most",
        "  By         Alice",
        "  Submitted  TIME",
        "  Run     lr    bs  State          Ran",
        "  wide-1  0.1   32  Pending",
        "  wide-2  0.1   64  Pending",
        "  wide-3  0.01  32  Not submitted",
        "  wide-4  0.01  64  Not submitted",
        "  [Stop]",
        "Its cells are runs: `/train resubmit wide-1` starts one again.",
    ]


def test_a_stop_asks_with_its_live_runs(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    work(client)
    assert client.says(ALICE, TEAM_A, "/train stop wide").splitlines() == [
        "Stop sweep wide?",
        (
            "2 live runs of it are stopped, and 2 more will not be submitted. Work since their last"
            " checkpoints is lost."
        ),
        "  [Stop it]",
    ]
    assert only(client).phase == "running"
    said = client.clicks(ALICE, TEAM_A, "train.stop-sweep", only(client).id)
    assert said == "Stopping sweep `wide`: 2 runs of it are ending."
    work(client)
    assert only(client).phase == "stopping"
    assert names(client) == ["wide-1", "wide-2"]
    said = client.clicks(ALICE, TEAM_A, "train.stop-sweep", only(client).id)
    assert said == "Stopping sweep `wide`: 2 runs of it are ending."


def test_others_cannot_stop_a_sweep(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    for said in (
        client.says(MIA, TEAM_A, "/train stop wide"),
        client.clicks(MIA, TEAM_A, "train.stop-sweep", only(client).id),
    ):
        assert said.splitlines()[0] == f"Sweep wide belongs to @{ALICE}."
    said = client.clicks(BOB, TEAM_A, "train.stop-sweep", only(client).id)
    assert said.splitlines()[0] == "You are not a member of team-a."
    assert only(client).phase == "running"


def test_a_sweep_is_submitted_only_once(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT, delivery="one")
    client.says(ALICE, TEAM_A, SUBMIT, delivery="one")
    assert question(client, SUBMIT)
    assert names(client) == ["wide-1"]


def test_its_runs_are_compared_by_its_name(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    work(client)
    title = "wide-1 and wide-2 side by side"
    assert client.says(ALICE, TEAM_A, "/train compare wide").splitlines()[0] == title
    said = client.clicks(ALICE, TEAM_A, "train.compare-sweep", only(client).id)
    assert said.splitlines()[0] == title


def test_curves_of_a_sweep_are_overlaid(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT.replace("--at-most 2", "--metric loss --best min"))
    for _ in range(4):
        work(client)
    said = client.says(ALICE, TEAM_A, "/train show wide --curves")
    assert said.splitlines()[0] == "No run of sweep wide has metrics so far."
    measured(client, "wide-1", "loss", [2.0, 1.0])
    measured(client, "wide-3", "loss", [3.0, 2.0])
    measured(client, "wide-3", "lr", [0.1])
    shown = client.says(ALICE, TEAM_A, "/train show wide --curves")
    assert shown.splitlines()[:3] == [
        "loss of sweep wide",
        "Without these metrics: wide-2, wide-4.",
        "`lr`: 0.1 in wide-1, 0.01 in wide-3",
    ]
    assert client.clicks(ALICE, TEAM_A, "train.curves-of-sweep", only(client).id) == shown
    assert client.says(ALICE, TEAM_A, "/train show wide --curves acc").splitlines() == [
        "No run of sweep wide has acc so far.",
        "They have: loss, lr.",
    ]


def test_an_early_stop_is_asked_for_bare(client: CommandClient) -> None:
    early = "--metric loss --best min --stop-early --warm-up 100"
    client.says(ALICE, TEAM_A, SUBMIT.replace("--at-most 2", early))
    made = only(client)
    assert (made.stop_early, made.warm_up, made.min_cells) == ("median", 100, 3)
    shown = client.says(ALICE, TEAM_A, "/train show wide")
    assert (
        "  Early stop  median rule, from step or epoch 100 on, compared with at least 3 other cells"
    ) in shown


def test_names_of_live_sweeps_are_taken(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    said = client.says(ALICE, TEAM_A, f"/train submit wide {IMAGE} -- python train.py")
    assert said.splitlines() == [
        "Sweep wide has not ended, and live runs and sweeps of a team must have different names.",
        "Wait until it ends, stop it with `/train stop wide`, or choose another name.",
    ]
    again = SUBMIT.replace("--at-most 2", "--at-most 3")
    assert client.says(ALICE, TEAM_A, again).startswith("Sweep wide has not ended")


def test_names_of_live_runs_are_taken(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, f"/train submit wide-4 {IMAGE} -- python train.py")
    assert client.says(ALICE, TEAM_A, SUBMIT).splitlines() == [
        "wide-4 has not ended, and a run of the sweep would have its name.",
        (
            "Wait until it ends, stop it with `/train stop wide-4`, or choose another name for the"
            " sweep."
        ),
    ]
    client.says(ALICE, TEAM_A, f"/train submit grid {IMAGE} -- python train.py")
    said = client.says(ALICE, TEAM_A, SUBMIT.replace("submit wide", "submit grid"))
    assert said.startswith("grid has not ended")


def test_a_parameter_must_reach_the_program(client: CommandClient) -> None:
    assert refused(client, GRID, "-- python train.py --lr {lr}") == [
        "Nothing in the command uses bs, so all cells would do the same.",
        (
            "Write placeholders where the values belong: `--lr {lr}` and `--bs {bs}`. For a program"
            " that reads its environment: `--env BS={bs}`."
        ),
    ]
    said = client.says(
        ALICE, TEAM_A, f"/train submit wide {IMAGE} {GRID} --env BS={{bs}} -- train '$SWEEP_LR'"
    )
    assert said.splitlines()[1] == "4 cells without GPUs, at most 4 at once."


FORTY = ",".join(map(str, range(40)))
UNFIT = {
    "--sweep lr=0.1,0.1 --sweep bs=1": "`--sweep lr` has the value 0.1 twice.",
    "--sweep lr=1 --sweep LR=2 --sweep bs=1": "`--sweep` names lr twice.",
    f"{GRID} --kind interactive": (
        "`--kind interactive` cannot be swept: a session does not end by itself."
    ),
    f"{GRID} --metric accuracy": "`--metric` needs `--best`.",
    f"{GRID} --best max": "`--best` needs `--metric`.",
    f"{GRID} --metric f1 --best max": "No result f1 is read from logs.",
    f"{GRID} --warm-up 10": "`--warm-up` needs `--stop-early`.",
    f"{GRID} --stop-early": (
        "`--stop-early` needs `--metric` and `--best`, which say what the worst runs are."
    ),
    f"{GRID} --metric loss --best min --stop-early --min-cells 4": (
        "`--stop-early` compares a run with at least 4 others, and the sweep has 4 cells."
    ),
    "--stop-early median": "`--stop-early` needs `--sweep`: it is an option of sweeps.",
    "--at-most 3": "`--at-most` needs `--sweep`: it is an option of sweeps.",
    f"--sweep lr={FORTY} --sweep bs=1,2": (
        "40 x 2 = 80 cells exceed the limit of team-a for one sweep: 64."
    ),
    "--sweep lr=0.1,,0.2": (
        "`--sweep` takes a name and its values such as `lr=0.1,0.01`, with commas between them, not"
        " `lr=0.1,,0.2`."
    ),
    f"{GRID} --sweep api_token=Xy7Kd93,b --env T={{api_token}}": (
        "`--env SWEEP_API_TOKEN=...` looks like a secret. It was not stored."
    ),
    f"{GRID} --gpus 500": "500 GPUs exceed the limit of team-a for one run: 64.",
}


@pytest.mark.parametrize(("options", "first"), UNFIT.items())
def test_unfit_sweeps_are_refused_with_reasons(
    client: CommandClient, options: str, first: str
) -> None:
    assert refused(client, options)[0] == first


def test_a_sweep_needs_a_short_name(client: CommandClient) -> None:
    name = "a-name-of-twenty-eight-chars"
    said = client.says(ALICE, TEAM_A, SUBMIT.replace("submit wide", f"submit {name}"))
    assert said.splitlines() == [
        f"{name} is too long for a sweep: its runs are called {name}-1 and so on.",
        "Use a name of at most 27 characters.",
    ]


def test_a_form_passes_a_sweep_through(client: CommandClient) -> None:
    form = opened(client, f"/train submit {IMAGE} --gpus 1 {GRID} --at-most 2 {COMMAND}")
    fields = {each.name: each.initial for each in form.fields} | {"name": "wide"}
    changed = used(client, form, "form-change", fields=fields).form
    assert changed is not None
    assert foreseen(changed)[:2] == [
        RECEIPT[1],
        ("Each of its runs would use 1 GPU, 8 cores and 72Gi memory (including 8Gi of /dev/shm)."),
    ]
    sent(client, changed, {"name": "wide"})
    work(client)
    assert names(client) == ["wide-1", "wide-2"]
    assert only(client).parameters == [["lr", ["0.1", "0.01"]], ["bs", ["32", "64"]]]


def test_runs_of_a_sweep_can_be_watched(client: CommandClient) -> None:
    client.says(ALICE, TEAM_A, SUBMIT)
    said = client.says(ALICE, TEAM_A, "/train watch wide-1")
    assert said.startswith("Watching `wide-1`.")
