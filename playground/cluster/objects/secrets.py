"""What the API server fills in and refuses in Secrets."""

import base64
import binascii

from playground.cluster.objects.errors import bad_request, invalid, required, wrong
from playground.cluster.objects.kinds import SECRET, Object

_KEYS = {
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def default_secret(obj: Object) -> None:
    """Turns text into data, and gives a type."""
    from_text = obj.pop("stringData", None) or {}
    if from_text:
        data = obj.setdefault("data", {})
        data |= {key: _base64(value) for key, value in from_text.items()}
    obj.setdefault("type", "Opaque")


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def check_secret(obj: Object) -> None:
    """Raises 400 for data that is not base64, 422 for what its type does not hold."""
    data = obj.get("data") or {}
    for value in data.values():
        try:
            base64.b64decode(value, validate=True)
        except (binascii.Error, TypeError, ValueError) as error:
            raise bad_request(
                'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at '
                "input byte 0"
            ) from error
    missing = [required(f"data[{key}]") for key in _KEYS.get(obj["type"], ()) if key not in data]
    if missing:
        raise invalid(SECRET, obj["metadata"].get("name", ""), missing)


def check_secret_change(old: Object, new: Object) -> None:
    """Raises 422 for a type that changes."""
    if old.get("type") != new.get("type"):
        cause = wrong("type", new.get("type", ""), "field is immutable")
        raise invalid(SECRET, new["metadata"]["name"], [cause])
