"""Four kinds of 403: a lack of rights, a full quota, a policy, and a server that just began."""

import msgspec
import pytest

from bot.cluster.api.answers import refusal

ADMISSION = 'jobs.batch "lane" is forbidden: '
USER = 'User "system:serviceaccount:qm:bot" cannot create resource "jobs" in API group "batch"'
RIGHTS = "The bot lacks a right in the cluster; `quartermaster doctor` lists the rights it needs."


def status(code: int, reason: str, message: str) -> bytes:
    told = {"kind": "Status", "reason": reason, "message": message, "code": code}
    return msgspec.json.encode(told)


@pytest.mark.parametrize(
    ("said", "word"),
    [
        (f'jobs.batch is forbidden: {USER} in the namespace "team-a"', "Forbidden"),
        (f'jobs.batch "lane" is forbidden: {USER}: RBAC: role "x" not found', "Forbidden"),
        ('forbidden: User "x" cannot get path "/metrics"', "Forbidden"),
        (
            ADMISSION + "cannot set blockOwnerDeletion if an ownerReference refers to a resource"
            " you can't set finalizers on: , <nil>",
            "Forbidden",
        ),
        (ADMISSION + "exceeded quota: none, requested: count/jobs.batch=1", "OverQuota"),
        (ADMISSION + "failed quota: q: must specify limits.cpu for: main", "Denied"),
        (ADMISSION + 'violates PodSecurity "restricted:latest": privileged', "Denied"),
        (ADMISSION + "[maximum cpu usage per Container is 2, but limit is 16]", "Denied"),
        (ADMISSION + "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", "Denied"),
        ('admission webhook "validate.kyverno.svc-fail" denied the request: no', "Denied"),
        (
            'admission webhook "v" denied the request: User "x" cannot use this; exceeded quota: 1',
            "Denied",
        ),
        (ADMISSION + "unable to create new content in namespace team-a", "Denied"),
        (ADMISSION + "not yet ready to handle request", "NotReady"),
        (ADMISSION + "status unknown for quota: q, resources: pods", "NotReady"),
    ],
)
def test_who_forbids_it_is_told_apart(said: str, word: str) -> None:
    error = refusal("Creating Job lane", 403, status(403, "Forbidden", said))
    assert (error.reason, error.is_final) == (word, word == "Denied")
    assert error.message.startswith("Creating Job lane: 403 Forbidden: ")
    assert (error.hint == RIGHTS) == (word == "Forbidden")


@pytest.mark.parametrize("body", [b"<html>go away</html>", b"", b'{"kind": "Status"}'])
def test_a_proxy_that_forbids_is_no_policy(body: bytes) -> None:
    assert refusal("Creating Job lane", 403, body).reason == "Forbidden"


@pytest.mark.parametrize(
    ("code", "reason", "final"),
    [(400, "BadRequest", True), (422, "Invalid", True), (404, "NotFound", True),
     (409, "Conflict", False), (429, "TooManyRequests", False), (500, "InternalError", False)],
)  # fmt: skip
def test_webhooks_deny_with_any_code(code: int, reason: str, *, final: bool) -> None:
    said = 'admission webhook "v.example.com" denied the request: no such runtime'
    assert refusal("Creating Job lane", code, status(code, reason, said)).is_final is final
