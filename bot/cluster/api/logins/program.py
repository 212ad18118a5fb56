"""Programs of a kubeconfig that print credentials (`exec`), run with a time-out.

Kubernetes' client runs them too, but waits for ever, and goes on without credentials if they fail.
"""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path, PurePath
from typing import Any

import msgspec

from bot.cluster.api.answers import sentence
from bot.cluster.api.logins.login import CREDENTIALS, Login, RenewedToken, Token
from bot.errors import ClusterError

TIMEOUT_SECONDS = 15.0
_EARLY_SECONDS = 300.0
_UNKNOWN = (
    "Install it in the bot's image, or give the bot a kubeconfig with the token of a service"
    " account: see Several clusters in deploy/README.md."
)
_EKS = (
    "The bot makes tokens for EKS itself, but not with all these arguments. It knows"
    " --cluster-name, --region, --role-arn and --profile: aws eks update-kubeconfig writes such a"
    " kubeconfig."
)
_KNOWN = {
    "aws": _EKS,
    "aws-iam-authenticator": _EKS,
    "kubelogin": (
        "The bot makes tokens for AKS itself, but not with all these arguments. Write the"
        " kubeconfig again: kubelogin convert-kubeconfig --login workloadidentity (or spn, msi)."
    ),
}


class Credential(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What a program printed: a token, or a certificate with its key."""

    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None

    @property
    def ends_at(self) -> float:
        """When it ends, in seconds since the epoch; infinite if it does not say."""
        until = self.expiration_timestamp
        return float("inf") if until is None else until.timestamp()

    @property
    def renew_at(self) -> float:
        """When it has to be renewed, if it was printed just now."""
        if self.expiration_timestamp is None:
            return float("inf")
        # What lives for less than 10 minutes is renewed after half of its time.
        return self.ends_at - min(_EARLY_SECONDS, max(0.0, self.ends_at - time.time()) / 2)


class ExecCredential(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """The document that a program prints."""

    api_version: str
    kind: str
    status: Credential


class Program:
    """The program that an `exec` section names."""

    def __init__(
        self, user: Any, folder: str, cluster: Any, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        """`user` and `cluster` are the client's nodes of the kubeconfig, which is in `folder`."""
        import kubernetes  # noqa: PLC0415 - a tenth of a second: only who needs it pays

        client: Any = kubernetes.config.exec_provider
        made = client.ExecProvider(user["exec"], folder, cluster)
        self._version: str = made.api_version
        self._environment: dict[str, str] = made.env
        self._cluster: Mapping[str, Any] | None = made.cluster.value if made.cluster else None
        self._folder = folder
        self._timeout = timeout
        self.name, *self._arguments = [str(each) for each in made.args]

    def login(self, printed: Credential) -> Login:
        """The login by the token that it has printed, and later prints; ClusterError."""
        renewed = RenewedToken(lambda: self._token(self.run()), self._token(printed))
        return Login(f"a token that the program {self.name} prints", renewed)

    def is_installed(self) -> bool:
        """Whether it can be run here."""
        return self._path() is not None

    def _token(self, printed: Credential) -> Token:
        if not printed.token:
            raise self._error("it printed no token")
        return Token(printed.token, printed.renew_at, printed.ends_at)

    def run(self) -> Credential:
        """What it prints now; ClusterError "Credentials"."""
        path = self._path()
        if path is None:
            raise ClusterError(
                f"The kubeconfig needs the program {self.name}, which is not installed here.",
                _KNOWN.get(PurePath(self.name).name, _UNKNOWN),
                reason=CREDENTIALS,
            )
        output = self._output(path)
        try:
            said = msgspec.json.decode(output, type=ExecCredential)
        except (msgspec.MsgspecError, ValueError) as error:
            raise self._error(f"it did not print an ExecCredential ({error})") from error
        if said.api_version != self._version:
            raise self._error(f"it printed {said.api_version}, the kubeconfig says {self._version}")
        return said.status

    def _output(self, path: str) -> bytes:
        info: dict[str, Any] = {"interactive": False}
        info |= {"cluster": self._cluster} if self._cluster is not None else {}
        asked = {"apiVersion": self._version, "kind": "ExecCredential", "spec": info}
        environment = {**self._environment, "KUBERNETES_EXEC_INFO": json.dumps(asked)}
        try:
            with subprocess.Popen(  # noqa: S603 - the kubeconfig's own program, as kubectl runs it
                [path, *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self._folder or None,
                env=environment,
                start_new_session=True,
            ) as process:
                return self._waited_for(process)
        except OSError as error:
            raise self._error(str(error)) from error

    def _waited_for(self, process: "subprocess.Popen[bytes]") -> bytes:
        try:
            output, complaint = process.communicate(timeout=self._timeout)
        except subprocess.TimeoutExpired as error:
            # What it started holds its output open, too; what left its session is not waited for.
            os.killpg(process.pid, signal.SIGKILL)
            raise self._error(f"it did not end within {self._timeout:g} s") from error
        if process.returncode:
            said = " ".join(complaint.decode(errors="replace").split())
            raise self._error(f"it ended with {process.returncode}" + (f": {said}" if said else ""))
        return output

    def _path(self) -> str | None:
        """Where it is: relative to the kubeconfig, or on PATH."""
        if "/" in self.name:
            path = Path(self._folder, self.name)
            return str(path) if os.access(path, os.X_OK) and path.is_file() else None
        return shutil.which(self.name, path=self._environment.get("PATH"))

    def _error(self, said: str) -> ClusterError:
        what = f"The program {self.name} of the kubeconfig did not log the bot in"
        hint = f"Run it where the bot runs, and mend what {self.name} reports."
        return ClusterError(sentence(what, said), hint, reason=CREDENTIALS)
