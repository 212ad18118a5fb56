"""Authentication at a Prometheus: by token, password, or the bot's cloud identity."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from bot.config import BasicLogin, PrometheusSettings, SigV4
from bot.errors import MetricsError
from bot.gpus.sources.identities import Identities

# Returns the headers that authenticate a request, from its URL and body.
Login = Callable[[str, bytes], Mapping[str, str]]

CONTENT = {"Content-Type": "application/x-www-form-urlencoded"}
_PLAIN_WORD = re.compile(rb"[!-~]+")
_ONE_LINE = re.compile(r"[^\r\n\0]+")
# Sovereign clouds have other endings.
_AZURE = re.compile(r"prometheus\.monitor\.azure\.[a-z]+$")
_AZURE_ITSELF = "prometheus.monitor.azure.com"
_AMAZON = "aps"


def login_of(name: str, settings: PrometheusSettings, identities: Identities) -> Login:
    """The login from the settings; files are read again for each request."""
    token_file, basic, sigv4 = settings.token_file, settings.basic, settings.sigv4
    if token_file is not None:
        return lambda _url, _body: _bearer(_token(token_file, name))
    if basic is not None:
        return lambda _url, _body: _basic(basic, name)
    if settings.entra:
        return lambda url, _body: _bearer(identities.entra_token(_scope(url)))
    if sigv4 is not None:
        return lambda url, body: _signed(sigv4, identities, url, body)
    return lambda _url, _body: {}


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _token(file: str, name: str) -> str:
    token = content_of(file, f"{name}: the token", "prometheus.token_file").strip()
    if not _PLAIN_WORD.fullmatch(token):  # the library would quote it in its error
        raise MetricsError(
            f"{name}: the token must be one word of printable ASCII characters.",
            "Check prometheus.token_file.",
        )
    return token.decode()


def _basic(login: BasicLogin, name: str) -> dict[str, str]:
    setting = "prometheus.basic.password_file"
    told = content_of(login.password_file, f"{name}: the password", setting)
    password = told.decode(errors="replace").rstrip("\r\n")
    if not _ONE_LINE.fullmatch(password):
        raise MetricsError(f"{name}: the password must be a single line.", f"Check {setting}.")
    encoded = b64encode(f"{login.username}:{password}".encode()).decode()
    return {"Authorization": f"Basic {encoded}"}


def _scope(url: str) -> str:
    found = _AZURE.search(urlsplit(url).hostname or "")
    return f"https://{found[0] if found else _AZURE_ITSELF}/.default"


def _signed(login: SigV4, identities: Identities, url: str, body: bytes) -> dict[str, str]:
    # Slow to import, so only for AWS.
    from botocore.auth import SigV4Auth  # noqa: PLC0415 - see above
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - as above

    keys = identities.amazon_keys(login.credentials, "prometheus.sigv4.credentials")
    request = AWSRequest("POST", url, headers=CONTENT, data=body)
    SigV4Auth(keys, _AMAZON, login.region).add_auth(request)
    return dict(request.headers.items())


def content_of(file: str, what: str, setting: str) -> bytes:
    """The content of a file named by a setting; MetricsError if it cannot be read."""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise MetricsError(
            f"{what} cannot be read: {error.strerror}.", f"Check {setting}."
        ) from error
