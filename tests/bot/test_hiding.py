"""Secrets in what servers say."""

import pytest

from bot.masking import hide_secrets

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJib3QifQ.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Bearer {JWT} expired", "Bearer [hidden] expired"),
        (f"got {JWT}", "got [hidden]"),
        ("Authorization: Basic cXVhcnRlcjptYXN0ZXI=", "Authorization: Basic [hidden]"),
        ("token=abc123, user=bob", "token=[hidden], user=bob"),
        ('{"password": "a b c", "user": "bob"}', '{"password": [hidden], "user": "bob"}'),
        ("AWS_SECRET_ACCESS_KEY=abc/def", "AWS_SECRET_ACCESS_KEY=[hidden]"),
        ("key AKIAIOSFODNN7EXAMPLE", "key [hidden]"),
        ("https://me:hunter2@host/x", "https://me:[hidden]@host/x"),
        ("xoxb-123456789012-abcdef", "[hidden]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "[hidden]"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE, cut", "[hidden]"),
        ('secrets "wandb" not found', 'secrets "wandb" not found'),
        ("the token has expired", "the token has expired"),
        ("pods need basic information", "pods need basic information"),
    ],
)
def test_hides_secrets_and_nothing_else(text: str, shown: str) -> None:
    assert hide_secrets(text) == shown
