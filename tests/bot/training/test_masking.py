"""Secrets are told from settings, and taken out of logs."""

import pytest

from bot.training.masking import holds_a_secret, is_secret, mask, mask_lines

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("API_KEY", "abc"),
        ("apiKey", "abc"),
        ("WANDB_API_KEY", "abc"),
        ("AWS_SECRET_ACCESS_KEY", "abc"),
        ("DB_PASSWORD", "12345"),
        ("HF_TOKEN", "abc"),
        ("GITHUBTOKEN", "abc"),
        ("CREDENTIALS", "abc"),
        ("URL", "postgres://bot:hunter2@db/x"),
        ("HEADER", JWT),
        ("ANYTHING", "ghp_0123456789abcdef0123"),
        ("ANYTHING", "AKIAIOSFODNN7EXAMPLE"),
        ("ANYTHING", "hf_0123456789abcdefghij"),
    ],
)
def test_a_secret_is_known_by_name_or_value(name: str, value: str) -> None:
    assert is_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BATCH_SIZE", "33"),
        ("MAX_TOKENS", "2048"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("NUM_KEY_VALUE_HEADS", "8"),
        ("KEY_DIM", "64"),
        ("USE_AUTH_TOKEN", "true"),
        ("KEYBOARD", "us"),
        ("PASSWORD", ""),
    ],
)
def test_settings_are_no_secrets(name: str, value: str) -> None:
    assert not is_secret(name, value)


@pytest.mark.parametrize(
    ("line", "masked"),
    [
        ("WANDB_API_KEY=abcdef123 loss 0.3", "WANDB_API_KEY=[hidden] loss 0.3"),
        ("{'api_key': 'abc def', 'n': 1}", "{'api_key': [hidden], 'n': 1}"),
        ('password: "hunter 2"', "password: [hidden]"),
        ("password=123456", "password=[hidden]"),
        ("Authorization: Bearer abcdefgh12", "Authorization: Bearer [hidden]"),
        ("cloning https://me:pw@host/repo", "cloning https://me:[hidden]@host/repo"),
        (f"got {JWT}.", "got [hidden]."),
        ("tokens: 3000 tokens/sec: 812.4 pad_token=0", None),
        ("epoch 1/3 step 40/400 loss 0.3 images/sec: 812.4", None),
    ],
)
def test_lines_are_shown_without_secrets(line: str, masked: str | None) -> None:
    assert mask(line) == (line if masked is None else masked)


def test_a_key_of_several_lines_disappears() -> None:
    lines = ["a", "-----BEGIN RSA PRIVATE KEY-----", "MIIE", "-----END RSA PRIVATE KEY-----", "b"]
    assert mask_lines(lines) == ["a", "[hidden]", "b"]


def test_words_of_a_command_are_looked_at() -> None:
    assert [holds_a_secret(w) for w in ("--max-tokens=2048", f"--auth={JWT}")] == [False, True]
