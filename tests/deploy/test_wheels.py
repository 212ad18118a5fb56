"""What the two distributions carry: the bot none of the playground, and each all it runs on."""

import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("bot", "handlers", "jobs")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheels of both distributions, built as `uv build` does."""
    return {
        "quartermaster": built(ROOT, tmp_path_factory.mktemp("bot")),
        "playground": built(ROOT / "playground", tmp_path_factory.mktemp("playground")),
    }


def built(project: Path, out: Path) -> Path:
    """The wheel of a source distribution of the project, which is all that `uv build` looks at."""
    (source,) = build("sdist", project, out)
    with tarfile.open(source) as opened:
        opened.extractall(out, filter="data")
    (wheel,) = build("wheel", out / source.name.removesuffix(".tar.gz"), out)
    return wheel


def build(target: str, project: Path, out: Path) -> list[Path]:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    return list(out.glob("*.whl" if target == "wheel" else "*.tar.gz"))


def carried(wheel: Path) -> set[str]:
    """The files of a wheel, without what describes it."""
    with zipfile.ZipFile(wheel) as opened:
        return {name for name in opened.namelist() if ".dist-info/" not in name}


def licences(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as opened:
        names = (name for name in opened.namelist() if "/licenses/" in name)
        return {Path(name).name: opened.read(name).decode() for name in names}


def licences_in(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text("utf-8") for name in ("LICENSE", "NOTICE")}


def files_of(*packages: str) -> set[str]:
    found = (path for package in packages for path in (ROOT / package).rglob("*"))
    return {
        path.relative_to(ROOT).as_posix()
        for path in found
        if path.is_file() and path.suffix != ".pyc"
    }


def project(folder: Path) -> dict[str, Any]:
    described: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    found: dict[str, Any] = described["project"]
    return found


def unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(folder)  # noqa: S202  # built from what is here


def said(folder: Path, *arguments: str) -> tuple[int, str]:
    """What a program says that has the packages of a folder and of the lock, not of this place."""
    installed = sysconfig.get_path("purelib")
    done = subprocess.run(
        [sys.executable, "-S", "-m", *arguments],  # -S: no editable installation is looked up
        cwd=folder, env={"PYTHONPATH": f"{folder}:{installed}"},
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_wheel_of_the_bot_carries_no_playground(wheels: dict[str, Path]) -> None:
    assert carried(wheels["quartermaster"]) == files_of(*PACKAGES)
    assert licences(wheels["quartermaster"]) == licences_in(ROOT)


def test_wheel_of_the_playground_carries_itself_alone(wheels: dict[str, Path]) -> None:
    described = {f"playground/{name}" for name in ("LICENSE", "NOTICE", "pyproject.toml")}
    assert carried(wheels["playground"]) == files_of("playground") - described
    assert "playground/cluster/objects/published.json.gz" in carried(wheels["playground"])
    assert licences(wheels["playground"]) == licences_in(ROOT / "playground")
    assert (ROOT / "playground" / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_playground_belongs_to_one_version_of_bot() -> None:
    bot, playground = project(ROOT), project(ROOT / "playground")
    assert playground["version"] == bot["version"]
    assert f"quartermaster-bot=={bot['version']}" in playground["dependencies"]


def test_bot_alone_says_how_to_get_playground(wheels: dict[str, Path], tmp_path: Path) -> None:
    unpack(wheels["quartermaster"], tmp_path)
    code, answer = said(tmp_path, "bot", "playground", "--list")
    assert code == 2
    assert answer.splitlines() == [
        "quartermaster: The playground is not installed.",
        "Install it: pip install quartermaster-playground",
    ]


@pytest.mark.parametrize("command", [("playground",), ("bot", "playground")])
def test_installed_playground_lists_what_it_plays(
    wheels: dict[str, Path], command: tuple[str, ...], tmp_path: Path
) -> None:
    for wheel in wheels.values():
        unpack(wheel, tmp_path)
    code, listed = said(tmp_path, *command, "--list")
    assert code == 0
    names = [line.split()[0].replace("-", "_") for line in listed.splitlines()]
    scenarios = (ROOT / "playground" / "scenarios").glob("[a-z]*.py")
    assert names == sorted(path.stem for path in scenarios)


def test_image_is_built_from_the_bot_alone() -> None:
    steps = (ROOT / "Dockerfile").read_text("utf-8").split("\nFROM ")[1].splitlines()
    copies = [step.split()[1:-1] for step in steps if step.startswith("COPY ")]
    described = {"pyproject.toml", "uv.lock", "README.md", "LICENSE", "NOTICE"}
    assert {name for copied in copies for name in copied} == {*PACKAGES, *described}
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert {line[1:] for line in lines if line.startswith("!")} == {*PACKAGES, *described}
