"""Settings of an MLflow server to which runs are exported."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from bot.config.kinds import MlflowUrl, Name
from bot.config.sections.gpu_sources import BasicLogin
from bot.config.sections.section import Section

_Experiment = Annotated[str, StringConstraints(min_length=1, max_length=200)]


def _named_by_team(text: str) -> str:
    if "{" in text.replace("{team}", "") or "}" in text.replace("{team}", ""):
        raise ValueError("what stands in braces must be {team}, as in platform/{team}")
    return text


class Mlflow(Section):
    """An MLflow tracking server to which the bot exports runs while they go on.

    Set at most one of `token_file` and `basic` to authenticate the bot.
    """

    url: MlflowUrl
    """Its tracking URI, like http://mlflow.mlflow:5000; the part before /api/2.0/mlflow."""

    web_url: MlflowUrl | None = None
    """Where people open it, if that is another address than `url`; for links on cards."""

    experiment: Annotated[_Experiment, AfterValidator(_named_by_team)] = "{team}"
    """The experiment of each team; it is created if it is not there."""

    experiments: dict[Name, _Experiment] = Field(default_factory=dict)
    """Experiments of single teams that are called otherwise."""

    teams: tuple[Name, ...] = ()
    """The teams whose runs are exported; without any, those of all teams."""

    token_file: str | None = None
    """A file with a bearer token, read again for each request."""

    basic: BasicLogin | None = None
    """A user name and a password."""

    ca_file: str | None = None
    """A file with the CA of its certificate; without it, the system's CAs are used."""

    def experiment_of(self, team: str) -> str:
        """The name of a team's experiment."""
        return self.experiments.get(team) or self.experiment.replace("{team}", team)

    def takes(self, team: str) -> bool:
        """Whether the runs of a team are exported."""
        return not self.teams or team in self.teams
