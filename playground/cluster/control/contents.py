"""What volumes hold: folders of this machine, copied as stores copy volumes and snapshots."""

import shutil
from collections.abc import Callable
from pathlib import Path


class Contents:
    """The bytes behind handles of volumes and of snapshots; a volume nobody wrote to has none.

    `home` is the folder in which each handle has one of its own.
    """

    def __init__(self, home: Callable[[], Path]) -> None:
        self._home = home

    def copy(self, source: str, target: str) -> None:
        """Has one handle hold what another one holds at this moment."""
        folder = self._home() / source
        if folder.is_dir():
            shutil.copytree(folder, self._home() / target, symlinks=True, dirs_exist_ok=True)

    def drop(self, handle: str) -> None:
        """Forgets what a handle holds."""
        shutil.rmtree(self._home() / handle, ignore_errors=True)


def handle_of(volume: dict[str, object]) -> str:
    """Which folder stands for a volume: the same for all volumes that share their bytes."""
    spec = volume["spec"]
    csi = spec.get("csi") if isinstance(spec, dict) else None
    told = (csi or {}).get("volumeAttributes") or {}
    handle: str = told.get("internalName") or (csi or {}).get("volumeHandle") or ""
    # A fileset of FSx for Lustre: MOUNT-NAME/FOLDER.
    _, _, folder = (told.get("mountname") or "").partition("/")
    return f"{handle}/{folder}" if folder else handle
