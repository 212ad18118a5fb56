"""Keys and certificates of a control plane that lives for a day."""

import subprocess
from pathlib import Path

_DAYS = "2"
_NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc")


def make_authority(folder: Path, name: str) -> None:
    """Writes NAME.crt and NAME.key of an authority, strict enough for Python 3.13 and later."""
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    _openssl(folder, "req", "-x509", *_new(name), "-subj", f"/CN={name}", "-days", _DAYS, *usage)


def make_certificate(folder: Path, name: str, authority: str, *extensions: str) -> None:
    """Writes NAME.crt and NAME.key, signed by an authority of the same folder."""
    signed = ("-CA", f"{authority}.crt", "-CAkey", f"{authority}.key", "-days", _DAYS)
    more = [part for each in extensions for part in ("-addext", each)]
    no_authority = ("-addext", "basicConstraints=critical,CA:FALSE")
    _openssl(
        folder, "req", "-x509", *_new(name), *signed, "-subj", f"/CN={name}", *no_authority, *more
    )


def make_key(folder: Path, name: str) -> None:
    """Writes NAME.key, and NAME.pub beside it."""
    _openssl(folder, "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
    _openssl(folder, "ec", "-in", f"{name}.key", "-pubout", "-out", f"{name}.pub")


def _new(name: str) -> tuple[str, ...]:
    return (*_NEW_KEY, "-keyout", f"{name}.key", "-out", f"{name}.crt")


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["openssl", *arguments],  # noqa: S607  # whichever is first on PATH
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=60,
    )
