"""A run is exported to MLflow while it goes on, although MLflow is away for a while."""

from datetime import timedelta

from playground.settings import Setup
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

SETUP = Setup(mlflow=True)
_LANE = "--image ghcr.io/acme/lane:3.1 --gpus 1 -- python train.py --epochs 6 --lr 0.1"


async def play(story: Story) -> None:
    """The card links to the run there; at the end MLflow has all its values."""
    alice, mlflow = story.person("Alice"), story.mlflow
    story.trains("ghcr.io/acme/lane", epochs=6, seconds_per_epoch=60)
    card = await submits(story, alice, "#team-a", "lane", _LANE)
    await is_admitted(story, card)
    await card.offers("Logs", "Stop", "MLflow")
    run = mlflow.runs["lane"]
    _are_equal(story, "experiment", mlflow.store.experiments[run.experiment_id].name, "team-a")
    await story.pass_time(timedelta(minutes=2))
    _are_equal(story, "status", run.status, "RUNNING")
    _are_equal(story, "arguments", run.params, {"epochs": "6", "lr": "0.1"})
    seen = len(run.history("loss"))
    mlflow.go_down()
    await story.pass_time(timedelta(minutes=2))
    _are_equal(story, "values while it is away", len(run.history("loss")), seen)
    await alice.types("#team-a", "/train show lane")
    await alice.is_told("MLflow returned 503. Retrying.")
    await ends_well(alice, "#team-a", card, "lane")
    mlflow.come_back()
    await story.pass_time(timedelta(minutes=10))
    _are_equal(story, "status", run.status, "FINISHED")
    _are_equal(story, "owner", run.tags["quartermaster.owner"].casefold(), "alice")
    _are_equal(story, "values", len(run.history("loss")), 60)
    _are_equal(story, "runs", len(mlflow.store.runs), 1)


def _are_equal(story: Story, what: str, found: object, wanted: object) -> None:
    if found != wanted:
        story.fail(f"MLflow has as {what}: {found!r}, not {wanted!r}")
