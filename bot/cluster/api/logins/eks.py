"""Tokens for Amazon EKS, as `aws eks get-token` and `aws-iam-authenticator token` print them.

A token is the presigned URL of a request to AWS STS, GetCallerIdentity, with the cluster's name in
a signed header. The cluster sends that request to learn who the bot is. STS accepts it for 15
minutes, whatever the URL says; both programs sign for 60 s and name 14 minutes as its end.
"""

import base64
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bot.cluster.api.answers import sentence
from bot.cluster.api.logins.commands import Arguments, Command, take_apart
from bot.cluster.api.logins.login import CREDENTIALS, Login, RenewedToken, Token
from bot.errors import ClusterError

if TYPE_CHECKING:
    from botocore.credentials import Credentials
    from botocore.session import Session

PREFIX, HEADER = "k8s-aws-v1.", "x-k8s-aws-id"
PRESIGNED_SECONDS = 60
ENDS_SECONDS = 14 * 60
EKS_GROUP = "quartermaster"
# botocore renews temporary keys when they have 10 minutes left, so a token is never older than its
# keys. A cluster asks STS about each new token, so it is not signed for each request.
_RENEW_SECONDS = 10 * 60
_CONNECT_SECONDS, _READ_SECONDS = 3, 5

_OPTIONS = {
    "--cluster-name": "cluster",
    "--cluster-id": "cluster",
    "-i": "cluster",
    "--region": "region",
    "--profile": "profile",
    "--role-arn": "role",
    "--role": "role",
    "-r": "role",
    "--session-name": "session",
    "-s": "session",
    "--external-id": "external_id",
    "-e": "external_id",
    "--output": "",
}
_SWITCHES = {"--cache": "", "--forward-session-name": "", "--no-cli-pager": ""}
# botocore's own names of what the variables set.
_VARIABLES = {
    "AWS_PROFILE": "profile",
    "AWS_DEFAULT_PROFILE": "profile",
    "AWS_REGION": "region",
    "AWS_DEFAULT_REGION": "region",
    "AWS_CONFIG_FILE": "config_file",
    "AWS_SHARED_CREDENTIALS_FILE": "credentials_file",
    "AWS_CA_BUNDLE": "ca_bundle",
    "AWS_STS_REGIONAL_ENDPOINTS": "sts_regional_endpoints",
}
_SETUP = "see EKS in deploy/README.md"


@dataclass(frozen=True)
class EksCommand:
    """What a token is for, and by which AWS identity."""

    cluster: str
    region: str | None = None
    role: str | None = None
    session: str = "EKSGetTokenAuth"
    external_id: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Whose token it is, for people."""
        if self.role:
            return f"IAM role {self.role}"
        profile = self.variables.get("profile")
        return f"AWS profile {profile}" if profile else "the bot's own AWS identity"


def eks_login(command: Command) -> Login | None:
    """The login of a command that prints a token for EKS; None for any other command."""
    asked = read_command(command)
    if asked is None:
        return None
    signer = EksSigner(asked)
    region = f" --region {asked.region}" if asked.region else ""
    return Login(
        f"a token for EKS cluster {asked.cluster}, by {asked.identity}",
        RenewedToken(signer.token),
        signer.principal,
        f"aws eks create-access-entry --cluster-name {asked.cluster}{region}"
        f" --principal-arn PRINCIPAL --kubernetes-groups {EKS_GROUP}",
    )


def read_command(command: Command) -> EksCommand | None:
    """What the command asks for; None for other commands, and for options that are not known."""
    words = {"aws": ("eks", "get-token"), "aws-iam-authenticator": ("token",)}.get(command.name)
    found = take_apart(command.arguments, _OPTIONS, _SWITCHES)
    if words is None or found is None or found.words != words or not found.options.get("cluster"):
        return None
    if command.environment.keys() - _VARIABLES.keys():
        return None
    return _asked(found, command.environment)


def _asked(found: Arguments, environment: Mapping[str, str]) -> EksCommand:
    variables = {_VARIABLES[name]: value for name, value in environment.items()}
    variables |= {k: v for k, v in found.options.items() if k in {"profile", "region"}}
    return EksCommand(
        cluster=found.options["cluster"],
        region=variables.get("region"),
        role=found.options.get("role"),
        session=found.options.get("session") or EksCommand.session,
        external_id=found.options.get("external_id"),
        variables=variables,
    )


class EksSigner:
    """Signs tokens with the keys of one AWS identity, which botocore finds and renews."""

    def __init__(self, asked: EksCommand) -> None:
        self._asked = asked
        self._session: Session | None = None
        self._keys: Credentials | None = None

    def token(self) -> Token:
        """A new token; ClusterError "Credentials"."""
        now = time.time()
        with self._failing():
            word = base64.urlsafe_b64encode(self._signed_url().encode()).decode().rstrip("=")
        return Token(PREFIX + word, now + _RENEW_SECONDS, now + ENDS_SECONDS)

    def principal(self) -> str:
        """The ARN of the role or user, from STS; ClusterError "Credentials"."""
        with self._failing():
            keys = self._credentials().get_frozen_credentials()
            client = self._client(
                aws_access_key_id=keys.access_key,
                aws_secret_access_key=keys.secret_key,
                aws_session_token=keys.token,
            )
            return _role_arn(client.get_caller_identity()["Arn"])

    def _signed_url(self) -> str:
        from botocore.signers import RequestSigner  # noqa: PLC0415 - see _opened

        session, client = self._opened(), self._client()
        region = client.meta.region_name
        signer = RequestSigner(
            client.meta.service_model.service_id,
            region,
            "sts",
            "v4",
            self._credentials(),
            session.get_component("event_emitter"),
        )
        address = client.meta.endpoint_url.rstrip("/")
        request = {
            "method": "GET",
            "url": f"{address}/?Action=GetCallerIdentity&Version=2011-06-15",
            "body": {},
            "headers": {HEADER: self._asked.cluster},
            "context": {},
        }
        url: str = signer.generate_presigned_url(
            request, region_name=region, expires_in=PRESIGNED_SECONDS, operation_name=""
        )
        return url

    def _credentials(self) -> "Credentials":
        """The keys, of the role if one is to be assumed; botocore renews temporary ones."""
        from botocore.credentials import (  # noqa: PLC0415 - see _opened
            AssumeRoleCredentialFetcher,
            DeferredRefreshableCredentials,
        )
        from botocore.exceptions import NoCredentialsError  # noqa: PLC0415 - as above

        if self._keys is not None:
            return self._keys
        own: Any = self._opened().get_credentials()
        if own is None:
            raise NoCredentialsError
        asked = self._asked
        if asked.role is not None:
            more = {"RoleSessionName": asked.session}
            more |= {"ExternalId": asked.external_id} if asked.external_id else {}
            fetcher: Any = AssumeRoleCredentialFetcher(
                lambda _service, **keys: self._client(**keys), own, asked.role, extra_args=more
            )
            own = DeferredRefreshableCredentials(fetcher.fetch_credentials, "assume-role")
        self._keys = own
        return self._keys

    def _client(self, **keys: Any) -> Any:
        return self._opened().create_client("sts", region_name=self._asked.region, **keys)

    def _opened(self) -> "Session":
        # Importing it takes a third of a second: only who logs in to EKS pays.
        import botocore.session  # noqa: PLC0415 - see above
        from botocore.config import Config  # noqa: PLC0415 - as above

        if self._session is None:
            session = botocore.session.Session()
            for name, value in self._asked.variables.items():
                session.set_config_variable(name, value)
            # The global endpoint of STS signs for one region, which other clusters do not accept.
            session.set_config_variable("sts_regional_endpoints", "regional")
            session.set_default_client_config(
                Config(
                    connect_timeout=_CONNECT_SECONDS,
                    read_timeout=_READ_SECONDS,
                    retries={"mode": "standard", "total_max_attempts": 2},
                )
            )
            self._session = session
        return self._session

    @contextmanager
    def _failing(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - see _opened

        try:
            yield
        except (BotoCoreError, ClientError, OSError, ValueError) as error:
            what = f"Logging in to EKS cluster {self._asked.cluster} by {self._asked.identity}"
            text = sentence(what, str(error))
            raise ClusterError(text, self._hint(error), reason=CREDENTIALS) from error

    def _hint(self, error: Exception) -> str:
        from botocore import exceptions  # noqa: PLC0415 - see _opened

        asked = self._asked
        if isinstance(error, exceptions.NoCredentialsError):
            return (
                "Give the bot's service account an IAM role: aws eks"
                " create-pod-identity-association --cluster-name CLUSTER_OF_THE_BOT --namespace"
                " quartermaster --service-account quartermaster --role-arn ROLE_ARN"
                f" ({_SETUP})."
            )
        if isinstance(error, exceptions.ProfileNotFound):
            return (
                "Take --profile out of the kubeconfig, or mount an AWS configuration with that"
                " profile and name it in the kubeconfig as AWS_CONFIG_FILE."
            )
        if isinstance(error, exceptions.NoRegionError):
            return "Add --region to the arguments in the kubeconfig, such as --region eu-central-1."
        if isinstance(error, exceptions.ClientError) and asked.role:
            return (
                f"Let the bot's AWS identity assume {asked.role}: it needs sts:AssumeRole in its"
                f" policy, and the role has to trust it ({_SETUP})."
            )
        return f"Check the bot's AWS identity, and that it reaches STS on port 443 ({_SETUP})."


def _role_arn(arn: str) -> str:
    """The ARN as access entries name it: the role's for a session of a role."""
    parts = arn.split(":", 5)
    kind, _, name = parts[-1].partition("/")
    if kind != "assumed-role":
        return arn
    return ":".join((*parts[:2], "iam", *parts[3:5], f"role/{name.partition('/')[0]}"))
