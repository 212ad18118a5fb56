"""A whole release, into a registry on loopback, with real programs."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.bot.cluster.api.api_server import Asked, Wire, serving
from tests.deploy.helm_program import kept as kept_helm
from tests.node import bot_image
from tests.release import programs
from tests.release.checkout import Checkout, checked_out, push_manifest

pytestmark = pytest.mark.timeout(1200)  # an image is built
_SECONDS = 900
_OF_SETUP = Path(__file__).parents[2] / ".venv-tools" / "bin"  # where `make setup` puts uv
_INDEX = "application/vnd.oci.image.index.v1+json"
_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
_STORAGE = '[storage]\ndriver = "overlay"\ngraphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n'


@dataclass(frozen=True)
class Rehearsed:
    """What was released, and where."""

    checkout: Checkout
    address: str
    folder: Path
    said: str
    released: dict[str, str]

    def run(self, *command: str) -> str:
        """What a program says; AssertionError if it fails."""
        done = self.attempt(*command)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def attempt(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return _attempt(self.checkout.environment, self.folder, *command)


def _attempt(environment: Any, folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    folder = tmp_path_factory.mktemp("release")
    environment = _environment(folder)
    checkout = checked_out(folder / "checkout", environment)
    with programs.registry(folder) as address, serving() as osv:
        osv.on("POST", "/v1/querybatch", _no_vulnerability)
        checkout = Checkout(checkout.folder, {**environment, "OSV_URL": f"{osv.url}/"})
        base = _push_base(address)
        made = _attempt(environment, folder, "cosign", "generate-key-pair")
        assert made.returncode == 0, made.stderr
        code, said = checkout.release(
            "--image", f"{address}/qm", "--chart", f"{address}/charts", "--base", base,
            "--platform", "linux/amd64", "--key", str(folder / "cosign.key"), "--plain-http",
        )  # fmt: skip
        assert code == 0, said[-5000:]
        released = json.loads((checkout.folder / "dist" / "release.json").read_text())
        yield Rehearsed(checkout, address, folder, said, released)
    for command in (("rm", "--all"), ("rmi", "--all", "--force")):  # a gigabyte
        _attempt(environment, folder, "buildah", *command)


def _environment(folder: Path) -> dict[str, str]:
    cosign, helm = programs.kept("cosign"), kept_helm()
    if helm is None or not _has_base():
        pytest.skip("Helm or the base image is not here; `make test-release` builds them")
    storage = folder / "storage.conf"
    storage.write_text(_STORAGE.format(folder=folder / "storage"))
    own = dict(os.environ)  # noqa: TID251  # of a child: PATH, proxies and mirrors
    return own | {
        "PATH": f"{cosign.parent}:{helm.parent}:{_OF_SETUP}:{own['PATH']}",
        "HOME": str(folder),
        "COSIGN_PASSWORD": "",
        "CONTAINERS_STORAGE_CONF": str(storage),
        "BUILDAH_ISOLATION": "chroot",
        "UV_CACHE_DIR": str(folder / "uv"),
    }


def _has_base() -> bool:
    if shutil.which("buildah") is None:
        return False
    command = [*bot_image.store(), "inspect", "--type", "image", bot_image.BASE_NAME]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _push_base(address: str) -> str:
    """The base that the image on nodes was built on."""
    base = f"{address}/python:3.11"
    push = ("push", "--tls-verify=false", bot_image.BASE_NAME, f"docker://{base}")
    subprocess.run([*bot_image.store(), *push], check=True, capture_output=True, timeout=_SECONDS)
    return base


def _no_vulnerability(asked: Asked, wire: Wire) -> None:
    results: list[dict[str, object]] = [{} for _ in asked.json["queries"]]
    wire.send(200, {"results": results}, {"Content-Type": "application/json"})


def fetched(rehearsed: Rehearsed, reference: str, what: str) -> Any:
    """A manifest or blob of the image's repository."""
    address = f"http://{rehearsed.address}/v2/qm/{what}/{reference}"
    accepted = f"{_INDEX}, {_LIST}, application/vnd.docker.distribution.manifest.v2+json"
    with urlopen(Request(address, headers={"Accept": accepted})) as answer:
        return json.load(answer)


def test_a_base_is_pinned_by_its_registry(tmp_path: Path) -> None:
    checkout = checked_out(tmp_path / "checkout", dict(os.environ))  # noqa: TID251  # of a child
    dry = ("--dry-run", "--image", "example.com/qm", "--chart", "example.com/charts")
    with programs.registry(tmp_path) as address:
        digest = push_manifest(address, "python", "3.14")
        base = f"{address}/python:3.14"
        code, said = checkout.release(*dry, "--plain-http", "--base", base)
        gone, told = checkout.release(*dry, "--plain-http", "--base", f"{base}-gone")
    assert code == 0, said
    assert f"--build-arg BASE={base}@{digest} " in said
    assert gone == 1
    assert told.endswith(
        f"release: The digest of {base}-gone cannot be read (HTTP Error 404: Not Found). Name a"
        " mirror with --base, or the digest itself: --base NAME@sha256:...\n"
    )


def test_the_index_names_the_platform_and_base(rehearsed: Rehearsed) -> None:
    image = rehearsed.released["image"]
    assert image.startswith(f"{rehearsed.address}/qm@sha256:")
    (entry,) = fetched(rehearsed, "0.1.0", "manifests")["manifests"]
    assert (entry["platform"]["os"], entry["platform"]["architecture"]) == ("linux", "amd64")
    manifest = fetched(rehearsed, entry["digest"], "manifests")
    labels = fetched(rehearsed, manifest["config"]["digest"], "blobs")["config"]["Labels"]
    name, _, digest = rehearsed.released["base"].partition("@")
    told = {key.removeprefix("org.opencontainers.image."): value for key, value in labels.items()}
    assert told["base.name"] == name == f"{rehearsed.address}/python:3.11"
    assert told["base.digest"] == digest
    assert told["revision"] == rehearsed.checkout.git("rev-parse", "HEAD")
    assert told["version"] == "0.1.0"


def test_signatures_of_image_and_chart_are_true(rehearsed: Rehearsed) -> None:
    verify = ("cosign", "verify", "--insecure-ignore-tlog=true", "--allow-http-registry")
    for what in ("image", "chart"):
        reference = rehearsed.released[what]
        rehearsed.run(*verify, "--key", "cosign.pub", reference)
    other = rehearsed.folder / "other"
    other.mkdir(exist_ok=True)
    _attempt(rehearsed.checkout.environment, other, "cosign", "generate-key-pair")
    wrong = rehearsed.attempt(*verify, "--key", "other/cosign.pub", rehearsed.released["image"])
    assert wrong.returncode != 0


def test_the_components_are_attested(rehearsed: Rehearsed) -> None:
    verify = ("cosign", "verify-attestation", "--insecure-ignore-tlog=true", "--type", "cyclonedx")
    said = rehearsed.run(
        *verify, "--allow-http-registry", "--key", "cosign.pub", rehearsed.released["image"]
    )
    assert "payload" in said
    path = rehearsed.checkout.folder / "dist" / rehearsed.released["sbom"]
    components = {each["name"] for each in json.loads(path.read_text())["components"]}
    assert {"slack-bolt", "kubernetes", "botocore"} <= components
    assert not {"pytest", "moto", "quartermaster-playground"} & components


def test_the_chart_pulls_the_image_by_digest(rehearsed: Rehearsed) -> None:
    name, _, digest = rehearsed.released["image"].partition("@")
    chart = ("--version", "0.1.0", f"oci://{rehearsed.address}/charts/quartermaster")
    shown = rehearsed.run("helm", "show", "values", "--plain-http", *chart)
    assert f"  repository: {name}\n" in shown
    assert f'  digest: "{digest}"' in shown


def test_the_released_image_is_the_bot_alone(rehearsed: Rehearsed) -> None:
    image = rehearsed.released["image"]
    container = rehearsed.run("buildah", "from", "--tls-verify=false", image).strip()
    inside = ("buildah", "run", container, "--")
    manifest = json.loads(rehearsed.run(*inside, "quartermaster", "manifest"))
    assert manifest["display_information"]["name"] == "Quartermaster"
    look = "import importlib.util as u; print([u.find_spec(n) for n in ('playground', 'pytest')])"
    assert rehearsed.run(*inside, "python", "-c", look) == "[None, None]\n"
    tools = "command -v az aws kubelogin uv gcc || echo none"
    assert rehearsed.run(*inside, "sh", "-c", tools) == "none\n"
