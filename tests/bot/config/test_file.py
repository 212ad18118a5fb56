"""quartermaster.yaml as a file: read, read again, and its page in docs."""

from datetime import timedelta
from pathlib import Path

import pytest

from bot.config import ConfigurationFile, needs_restart
from bot.config.page import page
from bot.errors import ConfigurationError
from tests.bot.config.files import GOOD, load, refusal, write

ROOT = Path(__file__).parents[3]


def test_the_example_file_loads_as_written() -> None:
    settings = ConfigurationFile(ROOT / "quartermaster.example.yaml").load()
    assert list(settings.teams) == ["team-a", "team-b"]
    assert settings.teams["team-a"].defaults.time == timedelta(days=3)
    assert settings.approvals.quota_base.needed == 2


def test_a_short_file_gets_every_default(tmp_path: Path) -> None:
    settings = load(tmp_path, GOOD)
    assert settings.teams["team-a"].cluster == "default"
    assert settings.slack.api_url == "https://slack.com/api/"
    assert settings.quotas.longest == timedelta(days=14)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{GOOD}workspace: T0OTHER\n",
            (
                "quartermaster.yaml line 9: workspace is set a second time (first on line 1);"
                " keep one of them."
            ),
        ),
        (
            "workspace: [T0QM\n",
            "quartermaster.yaml line 2: invalid YAML: did not find expected ',' or ']'.",
        ),
        (
            "teams: &teams {again: *teams}\n",
            "quartermaster.yaml line 1: invalid YAML: this alias is inside the value it refers to.",
        ),
        ("- T0QM\n", "quartermaster.yaml: the file must be a mapping of keys to values."),
    ],
)
def test_a_file_that_cannot_be_read_says_where(tmp_path: Path, text: str, message: str) -> None:
    assert refusal(tmp_path, text) == message


def test_a_missing_file_says_where_to_start(tmp_path: Path) -> None:
    path = tmp_path / "quartermaster.yaml"
    with pytest.raises(ConfigurationError) as caught:
        ConfigurationFile(path).load()
    assert caught.value.message == f"{path} cannot be read: No such file or directory."
    assert caught.value.hint == (
        "Start from quartermaster.example.yaml, and pass your file with --config."
    )


def test_a_changed_file_is_taken_once(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    file = ConfigurationFile(path)
    file.load()
    assert file.reload() is None
    path.write_text(GOOD.replace("U0CAROL", "U0BOB"), encoding="utf-8")
    changed = file.reload()
    assert changed is not None
    assert changed.admins.people == ("U0BOB",)
    assert file.reload() is None


def test_a_swapped_symlink_counts_as_change(tmp_path: Path) -> None:
    (tmp_path / "one").write_text(GOOD, encoding="utf-8")
    (tmp_path / "two").write_text(GOOD.replace("U0CAROL", "U0BOB"), encoding="utf-8")
    link = tmp_path / "quartermaster.yaml"
    link.symlink_to("one")
    file = ConfigurationFile(link)
    file.load()
    (tmp_path / "next").symlink_to("two")
    (tmp_path / "next").replace(link)
    changed = file.reload()
    assert changed is not None
    assert changed.admins.people == ("U0BOB",)


def test_a_bad_change_is_refused_until_mended(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    file = ConfigurationFile(path)
    first = file.load()
    path.write_text(GOOD.replace("U0CAROL", "carol"), encoding="utf-8")
    with pytest.raises(ConfigurationError):
        file.reload()
    assert file.reload() is None
    path.write_text(GOOD, encoding="utf-8")
    assert file.reload() == first


def test_parts_fixed_at_the_start_are_named(tmp_path: Path) -> None:
    old = load(tmp_path, GOOD)
    new = load(tmp_path, GOOD.replace("U0CAROL", "U0BOB") + "http: {listen: '127.0.0.1:1'}\n")
    assert needs_restart(old, new) == ("http",)


def test_the_settings_page_matches_the_models() -> None:
    written = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert written == page(), "run `make docs`"
    rows = [line for line in written.splitlines() if line.startswith("| `")]
    assert [line for line in rows if not line.endswith(" |")] == []


def test_the_settings_page_shows_no_python() -> None:
    lines = page().splitlines()
    price = "| `per_gpu_hour` | a map by name, each a number |  |"
    drivers = "| `static_drivers` | a list, each text | `nfs.csi.k8s.io`, `efs.csi.aws.com`,"
    for beginning in (price, drivers):
        assert len([line for line in lines if line.startswith(beginning)]) == 1
    assert [line for line in lines if line.startswith((" ", "```")) or "('" in line] == []
