"""The support bundle: what an engineer needs to see in an issue, without secrets."""

import io
import json
import platform
import re
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

from sqlalchemy import func, select
from sqlmodel import Session, SQLModel

from bot.app import version
from bot.config import ConfigurationFile, Settings
from bot.database.database import Database
from bot.database.schema import refuse_misfit, revision_of
from bot.doctor import examine
from bot.errors import ConfigurationError, QuartermasterError
from bot.masking import mask_lines
from bot.new_files import write_new
from bot.status.service import StatusService

_LOG_BYTES = 4 * 2**20
_PAGE_BYTES = 8 * 2**20
_LONGEST_LINE = 16_384
_PATIENCE_SECONDS = 5
_PACKAGES = (
    *("slack-bolt", "slack-sdk", "kubernetes", "sqlmodel", "sqlalchemy", "alembic", "psycopg"),
    *("apscheduler", "azure-mgmt-netapp", "boto3", "obstore", "pydantic", "uvicorn", "starlette"),
)
# Ids of people, groups, channels, workspaces and apps; all have a digit.
_SLACK_ID = re.compile(r"\b([ABCDEGSTUW])(?=[A-Z0-9]*[0-9])[A-Z0-9]{5,20}\b")
# The bot itself is asked, not by way of the proxy of the environment.
_DIRECTLY = build_opener(ProxyHandler({}))
_PAGES = {"readyz.json": "/readyz", "healthz.json": "/healthz", "metrics.txt": "/metrics"}


@dataclass
class Pseudonyms:
    """Other names for Slack ids: the same for the same id in all files of a bundle."""

    names: dict[str, str] = field(default_factory=dict)

    def replace(self, text: str) -> str:
        """The text with `U-1` for the first person's id in it, and so on."""
        return _SLACK_ID.sub(lambda found: self._name(found[0], found[1]), text)

    def _name(self, known_id: str, letter: str) -> str:
        same = sum(each.startswith(letter) for each in self.names)
        return self.names.setdefault(known_id, f"{letter}-{same + 1}")


def bundle(path: Path, target: Path, log: Path | None = None, *, with_ids: bool = False) -> Path:
    """Writes the bundle as a .tar.gz that only its owner can read, and returns its path.

    What cannot be read is named in the file that it should be in. Raises ConfigurationError if the
    configuration or the log cannot be read, or if `target` exists.
    """
    pseudonyms = Pseudonyms()
    contents = {name: _masked(text) for name, text in _contents(path, log)}
    if not with_ids:
        contents = {name: pseudonyms.replace(text) for name, text in contents.items()}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, text in contents.items():
            _add(tar, name, text.encode())
    try:
        write_new(target, packed.getvalue(), 0o600)
    except FileExistsError:
        raise ConfigurationError(f"{target} exists.", "Name another file: --out FILE.") from None
    except OSError as error:
        raise ConfigurationError(f"{target} cannot be written: {error.strerror}.") from None
    return target


def _contents(path: Path, log: Path | None) -> Iterator[tuple[str, str]]:
    settings = ConfigurationFile(path).load()
    yield "about.json", _json(_about())
    yield "quartermaster.yaml", path.read_text(encoding="utf-8")
    yield "doctor.json", _json([each.as_dict() for each in examine(path)])
    yield "database.json", _guarded(lambda: _json(_database(settings)))
    for name, page in _PAGES.items():
        yield name, _page(settings, page)
    if log is not None:
        yield "log.txt", _end_of(log)


def _about() -> Mapping[str, object]:
    return {
        "version": version(),
        "python": sys.version,
        "platform": platform.platform(),
        "packages": {name: _version_of(name) for name in _PACKAGES},
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _version_of(name: str) -> str:
    try:
        return installed_version(name)
    except PackageNotFoundError:
        return "missing"


def _database(settings: Settings) -> Mapping[str, object]:
    """How many rows each table has, what is late, and what Slack does not show yet."""
    database = Database(settings.database.url)

    def look(session: Session) -> Mapping[str, object]:
        refuse_misfit(session, version())
        found = StatusService(lambda: settings, {}, version()).look(session, datetime.now(UTC))
        return {
            "kind": settings.database.url.partition(":")[0],
            "revision": revision_of(session),
            "rows": {
                name: session.scalar(select(func.count()).select_from(table))
                for name, table in sorted(SQLModel.metadata.tables.items())
            },
            "late_seconds": {kind: late.total_seconds() for kind, late in found.late.items()},
            "messages": {
                "waiting": found.waiting,
                "failing": found.failing,
                "dead": found.dead,
                "newest_dead": [
                    {
                        "about": each.subject_kind,
                        "trouble": each.trouble,
                        "created_at": each.created_at.isoformat(),
                    }
                    for each in found.letters
                ],
            },
        }

    with closing(database):
        return database.read(look)


def _page(settings: Settings, page: str) -> str:
    """What the running bot shows there."""
    listens = settings.http.ops_listen or settings.http.listen
    host, _, port = listens.rpartition(":")
    local = "127.0.0.1" if host in {"0.0.0.0", "[::]", "::"} else host  # noqa: S104  # replaced
    url = f"http://{local}:{port}{page}"
    try:
        with _DIRECTLY.open(url, timeout=_PATIENCE_SECONDS) as answer:
            return str(answer.read(_PAGE_BYTES).decode("utf-8", "replace"))
    except HTTPError as error:
        with error:
            return error.read(_PAGE_BYTES).decode("utf-8", "replace")
    except (OSError, HTTPException) as error:
        return f"{url} did not answer: {error}\n"


def _end_of(log: Path) -> str:
    """The last 4 MiB of a log, from the beginning of a line."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, io.SEEK_END)
            file.seek(max(size - _LOG_BYTES, 0))
            if size > _LOG_BYTES:
                file.readline()
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        raise ConfigurationError(f"{log} cannot be read: {error.strerror}.") from None


def _guarded(look: Callable[[], str]) -> str:
    try:
        return look()
    except QuartermasterError as error:
        return f"{error.message} {error.hint}\n"


def _masked(text: str) -> str:
    return "\n".join(mask_lines(text.splitlines(), _LONGEST_LINE)) + "\n"


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(f"quartermaster-support/{name}")
    entry.size, entry.mode = len(content), 0o600
    entry.mtime = int(datetime.now(UTC).timestamp())
    tar.addfile(entry, io.BytesIO(content))
