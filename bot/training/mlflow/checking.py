"""Checks the MLflow server, for `quartermaster doctor`."""

from contextlib import closing

from bot.config import Mlflow, Settings
from bot.findings import Finding, Findings
from bot.training.mlflow.client import MlflowClient


def checks(settings: Settings, mlflow: Mlflow) -> Findings:
    """Whether it answers the bot, and whether the experiments of all teams can be written to."""
    teams = [team for team in settings.teams if mlflow.takes(team)]
    names = dict.fromkeys(mlflow.experiment_of(team) for team in teams)
    with closing(MlflowClient(mlflow)) as client:
        client.check()
        found = {name: client.experiment(name) for name in names}
    deleted = [name for name, each in found.items() if each is not None and each.is_deleted]
    for name in deleted:
        yield Finding(
            "mlflow",
            "failed",
            f"the experiment {name} is deleted",
            "Restore it in MLflow, or name another one in mlflow.experiments.",
        )
    absent = [name for name, each in found.items() if each is None]
    later = f"; the bot will create {', '.join(absent)}" if absent else ""
    if not deleted:
        yield Finding("mlflow", "ok", f"{mlflow.url} answers; experiments: {len(found)}{later}")
