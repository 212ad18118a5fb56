"""What a release is made from: a clean checkout with a tag and a section of changes."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[2]
_CARRIED = (
    "Dockerfile",
    ".dockerignore",
    "pyproject.toml",
    "uv.lock",
    "README.md",
    "LICENSE",
    "NOTICE",
    "CHANGELOG.md",
    "bot",
    "handlers",
    "jobs",
    "deploy",
    "scripts",
    "playground/pyproject.toml",
)
_SECONDS = 900
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@dataclass(frozen=True)
class Checkout:
    """A repository of its own."""

    folder: Path
    environment: Mapping[str, str]

    def release(self, *arguments: str) -> tuple[int, str]:
        """How the script ends, and all that it says."""
        done = subprocess.run(
            [sys.executable, str(self.folder / "scripts" / "release.py"), *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        return done.returncode, done.stdout

    def releasing(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """The script while it runs, to be answered."""
        return subprocess.Popen(
            [sys.executable, str(self.folder / "scripts" / "release.py"), *arguments],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=Test", "-c", "user.email=test@example.com")
        done = subprocess.run(
            ["git", *who, *arguments],  # noqa: S607  # whichever is first on PATH
            cwd=self.folder,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()


def checked_out(folder: Path, environment: Mapping[str, str]) -> Checkout:
    """The files of this checkout, as version 0.1.0."""
    for name in _CARRIED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    changes = folder / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace("## [Unreleased]", "## [0.1.0]"))
    (folder / ".gitignore").write_text("/dist/\n__pycache__/\n")
    made = Checkout(folder, environment)
    made.git("init", "-q")
    made.git("add", ".")
    made.git("commit", "-q", "-m", "Release 0.1.0")
    made.git("tag", "v0.1.0")
    return made


def push_manifest(address: str, name: str, tag: str) -> str:
    """Puts an image without content into a registry; returns its digest."""
    config = b"{}"
    digest = f"sha256:{sha256(config).hexdigest()}"
    with urlopen(Request(f"http://{address}/v2/{name}/blobs/uploads/", b"")) as answer:
        place = answer.headers["Location"]
    mark = "&" if "?" in place else "?"
    kind = {"Content-Type": "application/octet-stream"}
    sent = Request(f"{place}{mark}digest={digest}", config, kind, method="PUT")
    urlopen(sent).close()
    content: dict[str, Any] = {
        "schemaVersion": 2,
        "mediaType": _MANIFEST,
        "config": {
            "mediaType": "application/vnd.oci.image.config.v1+json",
            "digest": digest,
            "size": len(config),
        },
        "layers": [],
    }
    body = json.dumps(content).encode()
    kind = {"Content-Type": _MANIFEST}
    sent = Request(f"http://{address}/v2/{name}/manifests/{tag}", body, kind, method="PUT")
    urlopen(sent).close()
    return f"sha256:{sha256(body).hexdigest()}"
