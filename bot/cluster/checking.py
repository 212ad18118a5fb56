"""Checks who the bot is to a cluster, for the doctor."""

from http import HTTPStatus

from bot.cluster.api.logins.eks import EKS_GROUP
from bot.cluster.api.logins.login import Login
from bot.cluster.cluster import Cluster
from bot.errors import ClusterError
from bot.findings import Finding

_ANONYMOUS = "system:anonymous"
_SERVICE_ACCOUNT = "system:serviceaccount:"
_NOT_SAID = frozenset({"Forbidden", "NotServed"})


def identity_finding(cluster: Cluster, about: str) -> Finding:
    """Who the API server takes the bot for, and by which credentials; "failed" if for nobody."""
    login = cluster.login
    try:
        user = cluster.whoami().username
    except ClusterError as error:
        if error.status == HTTPStatus.UNAUTHORIZED or _ANONYMOUS in error.message:
            says = f"the API server does not accept {login.means}"
            return Finding(about, "failed", says, _remedy(login))
        if error.reason in _NOT_SAID:
            says = f"the bot logs in by {login.means}; the API server does not say as whom"
            return Finding(about, "ok", says)
        raise
    return Finding(about, "ok", f"the bot is {user}, by {login.means}")


def subject_of(cluster: Cluster) -> str:
    """The entry of the chart's `subjects` that gives the bot its rights; empty if it needs none."""
    try:
        user = cluster.whoami()
    except ClusterError:
        return ""
    if not user.username or user.username.startswith(_SERVICE_ACCOUNT):
        return ""
    # An IAM role's user is named after its session, so rights go to the group of its access entry.
    if user.username.startswith("arn:"):
        return f"subjects: [{{kind: Group, name: {EKS_GROUP}}}]"
    return f"subjects: [{{kind: User, name: {user.username}}}]"


def _remedy(login: Login) -> str:
    who = "PRINCIPAL"
    if login.principal is not None and who in login.remedy:
        try:
            who = login.principal()
        except ClusterError:
            who = "PRINCIPAL"
    return login.remedy.replace("PRINCIPAL", who)
