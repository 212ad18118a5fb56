"""Compute templates in quartermaster.yaml: what is refused, with the line."""

from pathlib import Path

import pytest

from bot.config import ConfigurationFile
from bot.errors import ConfigurationError

GOOD = """\
workspace: T0QM
admins: {people: [U0CAROL]}
clusters: {default: {}, lab: {}}
teams:
  team-a: {namespace: team-a, queue: team-a, clusters: [default, lab]}
  team-b: {namespace: team-b, queue: team-b}
templates:
  burst: TEMPLATE
"""


@pytest.mark.parametrize(
    ("template", "says"),
    [
        (
            "{cluster: moon}",
            "templates.burst is on cluster moon, which is not in clusters; choose one of:",
        ),
        ("{teams: [team-x]}", "there is no team team-x;"),
        (
            "{cluster: lab, teams: [team-b]}",
            "team-b does not have cluster lab; add it to teams.team-b.clusters.",
        ),
        ("{after: 30s}", "templates.burst.after"),
        ("{price_per_gpu_hour: -1}", "templates.burst.price_per_gpu_hour"),
        ("{node_selector: {'a b': c}}", "templates.burst.node_selector"),
        ("{gpu_type: H 100}", "templates.burst.gpu_type"),
    ],
)
def test_a_wrong_template_is_refused_with_line(tmp_path: Path, template: str, says: str) -> None:
    path = tmp_path / "quartermaster.yaml"
    path.write_text(GOOD.replace("TEMPLATE", template), encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        ConfigurationFile(path).load()
    assert "line 8" in caught.value.message
    assert says in caught.value.message


def test_a_template_needs_no_setting(tmp_path: Path) -> None:
    path = tmp_path / "quartermaster.yaml"
    path.write_text(GOOD.replace("TEMPLATE", "{}"), encoding="utf-8")
    found = ConfigurationFile(path).load().templates["burst"]
    assert (found.cluster, found.queue, found.after.total_seconds()) == ("default", None, 1800)
