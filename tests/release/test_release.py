"""A release checks what it is made from, pins its base, and can be looked at before it runs."""

import os
from dataclasses import replace
from pathlib import Path
from select import select

import pytest

from tests.bot.cluster.api.api_server import Asked, Wire, serving
from tests.release.checkout import Checkout, checked_out

DIGEST = f"sha256:{'ab' * 32}"
TO = ("--image", "registry.example.com/qm", "--chart", "registry.example.com/charts")
DRY = (*TO, "--dry-run")
SECONDS = 30
PROGRAMS = {
    "uv": "exit 0",
    "buildah": (
        f'for each; do test "$last" != --digestfile || echo {DIGEST} > "$each"; last=$each; done'
    ),
    "cosign": "printf 'password: '; read -r word; test \"$word\" = open",
    "helm": f"echo Digest: {DIGEST}",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    environment = dict(os.environ)  # noqa: TID251  # of a child
    return checked_out(tmp_path / "checkout", environment)


def test_a_dry_run_prints_each_step(checkout: Checkout) -> None:
    code, said = checkout.release(*DRY, "--base", f"python:3.14@{DIGEST}")
    assert code == 0, said
    commit = checkout.git("rev-parse", "HEAD")
    lines = [line for line in said.splitlines() if not line.startswith("warning: these programs")]
    out = checkout.folder / "dist"
    told = [line.replace(str(checkout.folder), "HERE") for line in lines]
    assert told[0] == f"Version 0.1.0, commit {commit[:12]}, base python:3.14@{DIGEST}"
    sbom = "HERE/dist/quartermaster-0.1.0.cdx.json"
    image, chart = (f"registry.example.com/{name}" for name in ("qm", "charts"))
    expected = (
        ("uv export", f"--frozen --no-dev --format cyclonedx1.5 --output-file {sbom}"),
        ("sh scripts/scan.sh", ""),
        (
            "buildah build",
            (
                "--tls-verify=true --platform linux/amd64,linux/arm64"
                f" --build-arg BASE=python:3.14@{DIGEST}"
                " --label org.opencontainers.image.version=0.1.0"
                f" --label org.opencontainers.image.revision={commit}"
                " --label org.opencontainers.image.base.name=python:3.14"
                f" --label org.opencontainers.image.base.digest={DIGEST}"
            ),
        ),
        ("buildah manifest push --all", f"docker://{image}:0.1.0"),
        ("cosign sign --yes", f"{image}@sha256:DIGEST"),
        (
            "cosign attest --yes",
            f"--type cyclonedx --predicate {sbom} {image}@sha256:DIGEST",
        ),
        ("helm lint", ""),
        ("helm package", "--destination HERE/dist"),
        ("helm push", f"HERE/dist/quartermaster-0.1.0.tgz oci://{chart}"),
        ("cosign sign --yes", f"{chart}/quartermaster@sha256:DIGEST"),
    )
    assert len(told) == len(expected) + 1, said
    for line, (command, arguments) in zip(told[1:], expected, strict=True):
        assert command in line
        assert arguments in line
    assert not list(out.iterdir())


@pytest.mark.parametrize("plain", ["yes", "no"])
def test_a_key_keeps_out_of_the_public_log(checkout: Checkout, plain: str) -> None:
    more = ("--plain-http",) if plain == "yes" else ()
    base = ("--base", f"python:3.14@{DIGEST}")
    said = checkout.release(*DRY, *base, "--key", "cosign.key", *more)[1]
    signed = [line for line in said.splitlines() if line.startswith("$ cosign")]
    assert len(signed) == 3
    assert all("--key cosign.key" in each and "signing-without-log.json" in each for each in signed)
    assert all(("--allow-http-registry" in each) == bool(more) for each in signed)


def test_an_unfinished_version_is_not_released(checkout: Checkout) -> None:
    checkout.git("tag", "-d", "v0.1.0")
    changes = checkout.folder / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace("## [0.1.0]", "## [Unreleased]"))
    said = (
        "there are changes that are not committed; HEAD has no tag v0.1.0 (git tag -s v0.1.0);"
        " CHANGELOG.md has no section [0.1.0]"
    )
    assert checkout.release(*TO, "--base", f"python:3.14@{DIGEST}") == (
        1,
        f"release: {said}. Nothing was pushed. Fix this and run the same command again.\n",
    )
    code, shown = checkout.release(*DRY, "--base", f"python:3.14@{DIGEST}")
    assert code == 0
    assert all(f"warning: {each}\n" in shown for each in said.split("; "))


def test_the_chart_has_the_projects_version(checkout: Checkout) -> None:
    chart = checkout.folder / "deploy/helm/quartermaster/Chart.yaml"
    chart.write_text(chart.read_text().replace("appVersion: 0.1.0", "appVersion: 0.2.0"))
    assert checkout.release(*DRY) == (
        1,
        "release: Chart.yaml has appVersion: 0.2.0, pyproject.toml 0.1.0. Make them agree.\n",
    )


def test_a_question_of_cosign_is_seen(checkout: Checkout, tmp_path: Path) -> None:
    """It asks for the password of a key, or names the page of a login, before it goes on."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, script in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    asking = replace(
        checkout,
        environment={**checkout.environment, "PATH": f"{programs}:{checkout.environment['PATH']}"},
    )
    with asking.releasing(*TO, "--base", f"python:3.14@{DIGEST}") as release:
        assert release.stdin is not None
        assert release.stdout is not None
        for _ in range(3):  # the image, its components, the chart
            said = ""
            while not said.endswith("password: "):
                assert select([release.stdout], [], [], SECONDS)[0], said
                said += os.read(release.stdout.fileno(), 1).decode()
            release.stdin.write(b"open\n")
            release.stdin.flush()
        rest = release.stdout.read().decode()
    assert release.returncode == 0, rest


def test_a_registry_may_ask_for_a_token(checkout: Checkout) -> None:
    with serving() as server:
        realm = f'Bearer realm="{server.url}/token",service="here",scope="repository:a/b:pull"'

        def manifest(asked: Asked, wire: Wire) -> None:
            headers = {name.lower(): value for name, value in asked.headers.items()}
            if headers.get("authorization") == "Bearer one":
                wire.send(200, b"", {"Docker-Content-Digest": DIGEST})
            else:
                wire.send(401, b"", {"WWW-Authenticate": realm})

        def token(asked: Asked, wire: Wire) -> None:
            assert asked.query == {"service": "here", "scope": "repository:a/b:pull"}
            wire.send(200, {"token": "one"})

        server.on("HEAD", "/v2/a/b/manifests/1", manifest)
        server.on("GET", "/token", token)
        base = f"{server.url.removeprefix('http://')}/a/b:1"
        code, said = checkout.release(*DRY, "--plain-http", "--base", base)
    assert code == 0, said
    assert f"base {base}@{DIGEST}\n" in said


def test_the_dockerfile_names_the_default_base(checkout: Checkout) -> None:
    file = checkout.folder / "Dockerfile"
    (base,) = [each for each in file.read_text().splitlines() if each.startswith("ARG BASE=")]
    file.write_text(file.read_text().replace(base, f"ARG BASE=python:3.13@{DIGEST}"))
    assert f"base python:3.13@{DIGEST}\n" in checkout.release(*DRY)[1]
