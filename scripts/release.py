"""Releases the bot: scans, builds and signs its image, and writes its Helm chart.

    python3 scripts/release.py --dry-run --image ghcr.io/acme/qm --chart ghcr.io/acme/charts

It needs git, uv, buildah, cosign and helm, and logins to the registry (`buildah login`, `cosign
login`, `helm registry login`). For two architectures the machine needs qemu-user-static, or build
each on a machine of its own with --platform. Everything before the first push can be repeated.
dist/ has the chart, the list of components (SBOM) and release.json with all digests at the end.
"""

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import asdict, dataclass
from http import HTTPStatus
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CHART = ROOT / "deploy" / "helm" / "quartermaster"
PLATFORMS = "linux/amd64,linux/arm64"
_INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_WITHOUT_LOG = ROOT / "scripts" / "signing-without-log.json"
_UNKNOWN = "sha256:DIGEST"  # in dry runs
_TIMEOUT_SECONDS = 30
_OF_SETUP = ROOT / ".venv-tools" / "bin" / "uv"
_UV = str(_OF_SETUP) if _OF_SETUP.exists() else "uv"
_PROGRAMS = ("git", _UV, "buildah", "cosign", "helm")
_RETRY = "Nothing was pushed. Fix this and run the same command again."


class ReleaseError(Exception):
    """The release cannot go on; the message says why and what to do."""


@dataclass(frozen=True)
class Released:
    """What release.json names."""

    version: str
    commit: str
    base: str
    image: str
    chart: str
    sbom: str


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    image: str
    chart: str
    base: str
    platforms: str
    key: str | None
    out: Path
    is_dry: bool
    is_plain_http: bool
    may_be_unscanned: bool


def main() -> None:
    """Releases what is checked out."""
    options = _options()
    try:
        released = release(options)
    except ReleaseError as error:
        sys.exit(f"release: {error}")
    if not options.is_dry:
        _say(
            f"Released {released.version}. Install it with deploy/README.md; {options.out} has all."
        )


def release(options: Options) -> Released:
    """All steps, in order; ReleaseError ends it."""
    version = checked_version()
    commit = checked_tree(version, options)
    _need_programs(options)
    base = pinned(options.base, plain_http=options.is_plain_http)
    _say(f"Version {version}, commit {commit[:12]}, base {base}")
    options.out.mkdir(parents=True, exist_ok=True)
    sbom = _list_components(version, options)
    _scan(options)
    image = _build_and_push(version, commit, base, options)
    _sign(image, options)
    _run(
        options,
        "cosign", "attest", *_signing(options),
        "--type", "cyclonedx", "--predicate", str(sbom), image,
    )  # fmt: skip
    chart = _chart(version, image, options)
    released = Released(version, commit, base, image, chart, sbom.name)
    if not options.is_dry:
        text = json.dumps(asdict(released), indent=2)
        (options.out / "release.json").write_text(f"{text}\n", "utf-8")
    return released


def checked_version() -> str:
    """The version, if the project and the chart agree on it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    version: str = project["version"]
    chart = (CHART / "Chart.yaml").read_text("utf-8")
    for key in ("version", "appVersion"):
        found = re.search(rf'^{key}: "?([^"\s]+)"?$', chart, re.MULTILINE)
        said = found.group(1) if found else "nothing"
        if said != version:
            raise ReleaseError(
                f"Chart.yaml has {key}: {said}, pyproject.toml {version}. Make them agree."
            )
    return version


def checked_tree(version: str, options: Options) -> str:
    """The commit, if it has the version's tag and section of changes, and nothing is changed."""
    commit = _output("git", "rev-parse", "HEAD")
    tag = f"v{version}"
    faults = []
    if _output("git", "status", "--porcelain"):
        faults.append("there are changes that are not committed")
    if tag not in _output("git", "tag", "--points-at", "HEAD").split():
        faults.append(f"HEAD has no tag {tag} (git tag -s {tag})")
    if f"\n## [{version}]" not in (ROOT / "CHANGELOG.md").read_text("utf-8"):
        faults.append(f"CHANGELOG.md has no section [{version}]")
    if faults and not options.is_dry:
        raise ReleaseError(f"{'; '.join(faults)}. {_RETRY}")
    for fault in faults:
        _say(f"warning: {fault}")
    return commit


def pinned(reference: str, *, plain_http: bool = False) -> str:
    """The image by the digest that its registry names, which is never guessed."""
    if "@" in reference:
        return reference
    server, name, tag = parts_of(reference)
    scheme = "http" if plain_http and not server.endswith(".docker.io") else "https"
    request = urllib.request.Request(  # noqa: S310 - of the two schemes above
        f"{scheme}://{server}/v2/{name}/manifests/{tag}",
        headers={"Accept": ", ".join(_INDEXES)},
        method="HEAD",
    )
    try:
        digest = _asked_for_digest(request)
    except (OSError, ValueError) as error:
        raise ReleaseError(
            f"The digest of {reference} cannot be read ({error}). Name a mirror with --base, or the"
            " digest itself: --base NAME@sha256:..."
        ) from error
    if not _DIGEST.fullmatch(digest):
        raise ReleaseError(f"{server} named no digest of {reference}. Name one with --base.")
    return f"{reference}@{digest}"


def parts_of(reference: str) -> tuple[str, str, str]:
    """Registry, repository and tag; names without a registry are Docker Hub's."""
    first, slash, rest = reference.partition("/")
    is_server = bool(slash) and ("." in first or ":" in first or first == "localhost")
    server, path = (first, rest) if is_server else ("docker.io", reference)
    name, _, tag = path.partition(":")
    if server == "docker.io":
        server, name = "registry-1.docker.io", name if "/" in name else f"library/{name}"
    return server, name, tag or "latest"


def _asked_for_digest(request: urllib.request.Request) -> str:
    """The registry's answer; a token is fetched where it asks for one, as for public images."""
    try:
        with _opened(request) as answer:
            return answer.headers.get("Docker-Content-Digest") or ""
    except urllib.error.HTTPError as error:
        challenge = error.headers.get("WWW-Authenticate", "")
        if error.code != HTTPStatus.UNAUTHORIZED or not challenge.startswith("Bearer "):
            raise
    asked = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    query = urllib.parse.urlencode({k: asked[k] for k in ("service", "scope") if k in asked})
    if not asked.get("realm", "").startswith(("https://", "http://127.0.0.1:")):
        raise ValueError("the registry names no server of tokens")
    with _opened(f"{asked['realm']}?{query}") as answer:
        said = json.load(answer)
    request.add_header("Authorization", f"Bearer {said.get('token') or said['access_token']}")
    with _opened(request) as answer:
        return answer.headers.get("Docker-Content-Digest") or ""


def _opened(request: urllib.request.Request | str) -> HTTPResponse:
    found: HTTPResponse = urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS)  # noqa: S310 - as above
    return found


def _list_components(version: str, options: Options) -> Path:
    """The SBOM of what the lock installs, in CycloneDX 1.5."""
    path = options.out / f"quartermaster-{version}.cdx.json"
    _run(
        options,
        _UV, "export", "--quiet", "--frozen", "--no-dev",
        "--format", "cyclonedx1.5", "--output-file", str(path),
    )  # fmt: skip
    return path


def _scan(options: Options) -> None:
    """Ends the release if the lock has known vulnerabilities, or nobody could tell."""
    try:
        _run(options, "sh", "scripts/scan.sh")
    except ReleaseError as error:
        if not options.may_be_unscanned:
            raise ReleaseError(f"{error} (--unscanned releases in spite of it)") from error
        _say(f"warning: released unscanned: {error}")


def _build_and_push(version: str, commit: str, base: str, options: Options) -> str:
    """The image for all platforms under its version, by its digest."""
    tag = f"{options.image}:{version}"
    labels = {
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": commit,
        "org.opencontainers.image.base.name": base.partition("@")[0],
        "org.opencontainers.image.base.digest": base.partition("@")[2],
    }
    named = [part for key, value in labels.items() for part in ("--label", f"{key}={value}")]
    local = f"quartermaster-release:{version}"
    verify = f"--tls-verify={str(not options.is_plain_http).lower()}"
    if not options.is_dry:
        # Of a run that failed; there may be none.
        _silently("buildah", "manifest", "rm", local)
    _run(
        options,
        "buildah", "build", "--format=docker", "--pull=always", verify,
        "--platform", options.platforms, "--build-arg", f"BASE={base}", *named,
        "--manifest", local, str(ROOT),
    )  # fmt: skip
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as told:
        _run(
            options,
            "buildah", "manifest", "push", "--all", verify, "--digestfile", told.name,
            local, f"docker://{tag}",
        )  # fmt: skip
        digest = told.read().strip() or _UNKNOWN
    return f"{options.image}@{digest}"


def _sign(reference: str, options: Options) -> None:
    _run(options, "cosign", "sign", *_signing(options), reference)


def _signing(options: Options) -> list[str]:
    """With a key, or keyless: by the identity of the person or workflow that runs this."""
    asked = ["--yes"]
    if options.key is not None:
        # A key needs no entry in the public log of Sigstore, which would name a private registry.
        asked += ["--key", options.key, "--signing-config", str(_WITHOUT_LOG)]
    if options.is_plain_http:
        asked += ["--allow-http-registry"]
    return asked


def _chart(version: str, image: str, options: Options) -> str:
    """The chart with the image's digest among its values, pushed and signed."""
    repository, _, digest = image.partition("@")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / CHART.name
        shutil.copytree(CHART, copy)
        values = copy / "values.yaml"
        text = values.read_text("utf-8")
        values.write_text(with_image(text, repository, digest), "utf-8")
        plain = CHART.parent / "plain.yaml"
        _run(options, "helm", "lint", "--quiet", "--values", str(plain), str(copy))
        _run(options, "helm", "package", str(copy), "--destination", str(options.out))
    package = options.out / f"quartermaster-{version}.tgz"
    http = ["--plain-http"] if options.is_plain_http else []
    said = _said(options, "helm", "push", str(package), f"oci://{options.chart}", *http)
    found = _DIGEST.search(said)
    chart = f"{options.chart}/quartermaster@{found.group() if found else _UNKNOWN}"
    if found is None and not options.is_dry:
        raise ReleaseError(f"helm named no digest of the chart: {said}")
    _sign(chart, options)
    return chart


def with_image(values: str, repository: str, digest: str) -> str:
    """The chart's values.yaml with an image by its digest."""
    for old, new in (
        ("  repository: quartermaster\n", f"  repository: {repository}\n"),
        ('  digest: ""  ', f'  digest: "{digest}"  '),
    ):
        if values.count(old) != 1:
            raise ReleaseError(f"values.yaml of the chart has no line {old.strip()}.")
        values = values.replace(old, new)
    return values


def _need_programs(options: Options) -> None:
    missing = [each for each in _PROGRAMS if shutil.which(each) is None]
    if missing and not options.is_dry:
        raise ReleaseError(f"These programs are missing: {', '.join(missing)}.")
    if missing:
        _say(f"warning: these programs are missing: {', '.join(missing)}")


def _run(options: Options, *command: str) -> None:
    """Runs the command, which may ask for a password or a login; a dry run only prints it."""
    _say(f"$ {shlex.join(command)}")
    if not options.is_dry:
        _need_success(subprocess.run(command, cwd=ROOT, check=False))  # noqa: S603 - a command of this file


def _said(options: Options, *command: str) -> str:
    """What the command says, printed when it has ended; nothing in a dry run."""
    _say(f"$ {shlex.join(command)}")
    if options.is_dry:
        return ""
    done = subprocess.run(  # noqa: S603 - as above
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    sys.stdout.write(done.stdout)
    _need_success(done)
    return done.stdout


def _need_success(done: "subprocess.CompletedProcess[Any]") -> None:
    if done.returncode:
        told = " ".join(done.args[:2])
        raise ReleaseError(f"{told} ended with {done.returncode}; see above.")


def _output(*command: str) -> str:
    return _silently(*command, check=True).stdout.strip()


def _silently(*command: str, check: bool = False) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=check)  # noqa: S603 - as above


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def default_base() -> str:
    """The base image that the Dockerfile names."""
    found = re.search(r"^ARG BASE=(\S+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ReleaseError("The Dockerfile has no line ARG BASE=.")
    return found.group(1)


def _options() -> Options:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--image", required=True, help="repository of the image: ghcr.io/acme/quartermaster")
    add("--chart", required=True, help="where charts are: ghcr.io/acme/charts")
    add("--base", default=default_base(), help="base image, by tag or by digest (%(default)s)")
    add("--platform", default=PLATFORMS, help="for which machines (%(default)s)")
    add("--key", help="cosign's key, as a file or a KMS address; without one, keyless")
    add("--out", type=Path, default=ROOT / "dist", help="folder for chart, SBOM and release.json")
    add("--dry-run", action="store_true", help="check, and print what would run")
    add("--plain-http", action="store_true", help="a registry without TLS, for rehearsals")
    add("--unscanned", action="store_true", help="release although the scan failed")
    told = parser.parse_args()
    return Options(
        image=told.image,
        chart=told.chart,
        base=told.base,
        platforms=told.platform,
        key=told.key,
        out=told.out.absolute(),
        is_dry=told.dry_run,
        is_plain_http=told.plain_http,
        may_be_unscanned=told.unscanned,
    )


if __name__ == "__main__":
    main()
