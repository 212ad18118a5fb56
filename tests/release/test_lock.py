"""The lock installs the bot without a compiler on both architectures and all Pythons."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PYTHONS = (11, 12, 13, 14)
ARCHITECTURES = ("x86_64", "aarch64")
# Of Debian 12; wheels may ask for an older C library, not for a newer one.
GLIBC = (2, 36)


def packages() -> Mapping[str, list[dict[str, Any]]]:
    """All packages of the lock, by name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for each in tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]:
        found.setdefault(each["name"], []).append(each)
    return found


def of_the_bot() -> set[str]:
    """What the bot needs, directly or not, on any machine; no group of developers."""
    known, found, rest = packages(), set(), ["quartermaster-bot"]
    while rest:
        name = rest.pop()
        if name not in found:
            found.add(name)
            rest += [need["name"] for each in known[name] for need in _needs(each)]
    return found - {"quartermaster-bot"}


def _needs(package: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from package.get("dependencies", ())
    for extra in package.get("optional-dependencies", {}).values():
        yield from extra


def fits(file: str, python: int, architecture: str) -> bool:
    """Whether a wheel installs on CPython 3.`python` on Linux."""
    pythons, abis, platforms = (
        part.split(".") for part in file.removesuffix(".whl").rsplit("-", 3)[1:]
    )
    return any(_is_linux(each, architecture) for each in platforms) and any(
        _runs(tag, abis, python) for tag in pythons
    )


def _is_linux(platform: str, architecture: str) -> bool:
    if platform == "any":
        return True
    names = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
    name, _, rest = platform.partition("_")
    if name in names:
        return rest == architecture and names[name] <= GLIBC
    parts = platform.split("_", 3)
    if parts[0] != "manylinux" or parts[-1] != architecture:
        return False
    return (int(parts[1]), int(parts[2])) <= GLIBC


def _runs(tag: str, abis: list[str], python: int) -> bool:
    if tag == "py3":
        return True
    if not tag.startswith("cp3"):
        return False
    wanted = int(tag[3:])
    return wanted <= python if "abi3" in abis else (wanted == python and tag in abis)


def test_the_closure_has_what_it_should() -> None:
    found = of_the_bot()
    assert {"slack-bolt", "botocore", "msal", "psycopg-binary", "pydantic-core"} <= found
    assert not found & {"pytest", "mypy", "moto", "quartermaster-playground"}


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_each_package_has_a_wheel_everywhere(python: int, architecture: str) -> None:
    known = packages()
    missing = [
        f"{name} {package['version']}"
        for name in sorted(of_the_bot())
        for package in known[name]
        if not any(
            fits(wheel["url"].rpartition("/")[2], python, architecture)
            for wheel in package.get("wheels", ())
        )
    ]
    assert missing == []


def test_each_file_of_the_lock_has_a_hash() -> None:
    known = packages()
    files = [
        file
        for name in of_the_bot()
        for package in known[name]
        for file in (
            *package.get("wheels", ()),
            *([package["sdist"]] if "sdist" in package else ()),
        )
    ]
    assert files
    assert [each["url"] for each in files if not each["hash"].startswith("sha256:")] == []


@pytest.mark.parametrize(
    ("file", "python", "architecture", "expected"),
    [
        ("a-1-py3-none-any.whl", 14, "aarch64", True),
        ("a-1-py2.py3-none-any.whl", 11, "x86_64", True),
        ("a-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", 11, "x86_64", True),
        ("a-1-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", 14, "x86_64", False),
        ("a-1-cp39-abi3-manylinux_2_28_aarch64.whl", 14, "aarch64", True),
        ("a-1-cp39-abi3-manylinux_2_28_x86_64.whl", 14, "aarch64", False),
        ("a-1-cp314-cp314-musllinux_1_2_x86_64.whl", 14, "x86_64", False),
        ("a-1-cp314-cp314-manylinux_2_39_x86_64.whl", 14, "x86_64", False),
        ("a-1-cp314-cp314t-manylinux_2_28_x86_64.whl", 14, "x86_64", False),
    ],
)
def test_wheels_are_told_apart(
    file: str, python: int, architecture: str, *, expected: bool
) -> None:
    assert fits(file, python, architecture) is expected
