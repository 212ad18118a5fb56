"""Whether a request is signed as AWS signs: version 4, for this region, service and key."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass

from playground.fsx.refusals import FsxRefusalError

ACCESS_KEY, SECRET_KEY = "PLAYGROUNDFSXKEY", "playground-fsx-secret"
_SERVICE, _END = "fsx", "aws4_request"
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<scope>[^,]+), ?"
    r"SignedHeaders=(?P<names>[^,]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
_NEEDED = frozenset({"host", "x-amz-date", "x-amz-target"})


@dataclass(frozen=True)
class Signed:
    """What was signed: the headers, by small names, and the body of a POST to /."""

    headers: Mapping[str, str]
    body: bytes

    def check(self, region: str) -> None:
        """Nothing where the signature is right; FsxRefusalError with AWS's own code else."""
        found = _AUTHORIZATION.fullmatch(self.headers.get("authorization", ""))
        if found is None:
            raise FsxRefusalError("MissingAuthenticationToken", "The request is not signed.", 403)
        stamp = self.headers.get("x-amz-date", "")
        scope = f"{stamp[:8]}/{region}/{_SERVICE}/{_END}"
        if found["scope"] != scope:
            message = f"Credential should be scoped to {scope}, not {found['scope']}."
            raise FsxRefusalError("SignatureDoesNotMatch", message, 403)
        if found["key"] != ACCESS_KEY:
            message = "The security token included in the request is invalid."
            raise FsxRefusalError("UnrecognizedClientException", message)
        names = found["names"].split(";")
        if not set(names) >= _NEEDED or not hmac.compare_digest(
            found["signature"], self._signature(names, stamp, scope)
        ):
            message = "The request signature we calculated does not match the one you provided."
            raise FsxRefusalError("SignatureDoesNotMatch", message, 403)

    def _signature(self, names: list[str], stamp: str, scope: str) -> str:
        lines = "".join(f"{name}:{self.headers.get(name, '').strip()}\n" for name in names)
        digest = hashlib.sha256(self.body).hexdigest()
        request = "\n".join(("POST", "/", "", lines, ";".join(names), digest))
        hashed = hashlib.sha256(request.encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashed}"
        key = f"AWS4{SECRET_KEY}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
