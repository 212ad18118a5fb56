"""FSx as a world has it: a file system that is linked to its bucket, and keys for the bot."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from playground.bucket import LAKE, Bucket
from playground.fsx.app import REGION, FsxApp
from playground.fsx.estate import Body, Estate
from playground.fsx.signing import ACCESS_KEY, SECRET_KEY
from playground.ledger import Ledger

SYSTEM, FOLDER, CLASS = "fs-0123456789abcdef0", "/lake", "lustre"
_KEYS = {"access-key-id": ACCESS_KEY, "secret-access-key": SECRET_KEY}


class Fsx:
    """Serves one region once it has an address; `volumes` is where the file system keeps files."""

    def __init__(
        self, ledger: Ledger, now: Callable[[], datetime], bucket: Bucket, volumes: Path
    ) -> None:
        self.app = FsxApp(ledger, now)
        self.url = ""
        self._bucket = bucket
        self._root = volumes / SYSTEM
        system = self.estate.add(SYSTEM)
        self.estate.link(system, FOLDER, f"s3://{LAKE}/")
        self.estate.on_import = self._import

    @property
    def estate(self) -> Estate:
        """What there is."""
        return self.app.estate

    def files(self, folder: str) -> dict[str, bytes]:
        """What the file system holds in a folder of the bucket: contents by their names."""
        root = self._root / FOLDER.strip("/") / folder
        found = (each for each in sorted(root.rglob("*")) if each.is_file())
        return {each.relative_to(root).as_posix(): each.read_bytes() for each in found}

    def settings(self, files: Path) -> dict[str, Any]:
        """What the bot is told of it; its keys are written into a folder of `files`."""
        keys = files / "fsx-keys"
        keys.mkdir(mode=0o700, exist_ok=True)
        for name, value in _KEYS.items():
            (keys / name).write_text(value, encoding="utf-8")
        service = {"region": REGION, "endpoint": self.url, "credentials": str(keys)}
        linked = {"file_system": SYSTEM, "repository": f"s3://{LAKE}", "path": FOLDER}
        classes = {CLASS: {"fsx": linked, "budget": "10Ti"}}
        return {"datasets": {"fsx": service, "classes": classes}}

    def _import(self, asked: Body) -> int:
        """Shows what the bucket has now below the paths; of how many objects."""
        count = 0
        for path in asked["Paths"]:
            folder = f"{path.removeprefix(f's3://{LAKE}').strip('/')}/"
            for name, content in self._bucket.objects(folder).items():
                file = self._root / FOLDER.strip("/") / folder / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
                count += 1
        return count
