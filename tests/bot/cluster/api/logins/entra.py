"""Microsoft Entra's endpoint of tokens, and an API server of AKS that knows its tokens."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import jwt

from tests.bot.cluster.api.api_server import ApiServer, Asked, Wire, serving
from tests.cluster.certificates import make_authority, make_certificate

# The application of AKS's API servers is the same in every tenant.
SERVER_ID = "6dae42f8-4368-4678-94ff-3960e28e3630"
TENANT = "00000000-aaaa-4000-8000-000000000001"
CLIENT = "00000000-bbbb-4000-8000-000000000002"
OBJECT = "00000000-cccc-4000-8000-000000000003"
SECRET, ASSERTION = "a-secret-of-the-client", "a-token-of-the-service-account"
_KEY = "a key of Entra, with thirty-two signs or more"
_JWT_BEARER = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


@dataclass
class Entra:
    """One tenant with one application, which proves itself by a secret or by an assertion."""

    server: ApiServer
    lifetime: timedelta = timedelta(hours=1)
    revoked: set[str] = field(default_factory=set)
    given: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.server.on("POST", f"/{TENANT}/oauth2/v2.0/token", self._give)
        path = f"/{TENANT}/v2.0/.well-known/openid-configuration"
        self.server.on("GET", path, self._describe)

    @property
    def issuer(self) -> str:
        return f"https://sts.windows.net/{TENANT}/"

    def judge(self, authorization: str) -> str:
        """What an API server of AKS objects to in a token; empty if nothing."""
        kind, _, word = authorization.partition(" ")
        needed = ["exp", "aud", "iss", "oid"]
        try:
            claims = jwt.decode(
                word,
                _KEY,
                algorithms=["HS256"],
                audience=SERVER_ID,
                issuer=self.issuer,
                options={"require": needed},
            )
        except jwt.PyJWTError as error:
            return str(error)
        is_known = (kind, claims["tid"]) == ("Bearer", TENANT) and word not in self.revoked
        return "" if is_known else "revoked"

    def _describe(self, _asked: Asked, wire: Wire) -> None:
        base = f"{self.server.url}/{TENANT}"
        document = {
            "issuer": f"{base}/v2.0",
            "token_endpoint": f"{base}/oauth2/v2.0/token",
            "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
        }
        wire.send(200, document, {"Content-Type": "application/json"})

    def _give(self, asked: Asked, wire: Wire) -> None:
        form = dict(parse_qsl(asked.body.decode()))
        fault = self._fault(form)
        if fault:
            said: dict[str, Any] = {"error": "invalid_client", "error_description": fault}
            wire.send(401, said, {"Content-Type": "application/json"})
            return
        seconds = int(self.lifetime.total_seconds())
        word = self._make(form["scope"].split()[0].removesuffix("/.default"))
        body = {"token_type": "Bearer", "expires_in": seconds, "access_token": word}
        wire.send(200, body, {"Content-Type": "application/json"})

    def give_to_managed(self, asked: Asked, wire: Wire) -> None:
        """The endpoint of managed identities, as App Service has it."""
        ends_at = datetime.now(UTC) + self.lifetime
        word = self._make(asked.query["resource"])
        wire.send(200, {"access_token": word, "expires_on": f"{ends_at.timestamp():.0f}"})

    def _make(self, audience: str) -> str:
        now = datetime.now(UTC)
        claims = {
            "aud": audience,
            "iss": self.issuer,
            "tid": TENANT,
            "oid": OBJECT,
            "iat": now,
            "exp": now + max(self.lifetime, timedelta(minutes=5)),
            "uti": str(len(self.given)),
        }
        self.given.append(jwt.encode(claims, _KEY, algorithm="HS256"))
        return self.given[-1]

    def _fault(self, form: Mapping[str, str]) -> str:
        if form.get("grant_type") != "client_credentials":
            return "AADSTS70003: The app requested an unsupported grant type."
        if form.get("client_id") != CLIENT:
            return (
                f"AADSTS700016: Application with identifier '{form.get('client_id')}' was not found"
                " in the directory 'ml'."
            )
        proofs = (form.get("client_assertion_type"), form.get("client_assertion"))
        if proofs == (_JWT_BEARER, ASSERTION) or unquote(form.get("client_secret", "")) == SECRET:
            return ""
        return "AADSTS7000215: Invalid client secret provided.\r\nTrace ID: 1"


@contextmanager
def entra(folder: Path) -> Iterator[Entra]:
    """One that serves TLS, as azure-identity wants it; its authority is in folder/entra.crt."""
    make_authority(folder, "entra")
    make_certificate(folder, "login", "entra", "subjectAltName=IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "login.crt", folder / "login.key")
    with serving(context) as server:
        yield Entra(server)
