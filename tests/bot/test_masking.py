"""Secrets are told from settings, and taken out of logs."""

import re
from time import perf_counter, process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.masking import (
    HIDDEN,
    LONGEST_LINE,
    _masked,
    holds_a_secret,
    is_secret,
    mask,
    mask_lines,
    mask_words,
    secret_in,
)

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
        ("InvalidAuthenticationToken: The access token is invalid.", None),
        ("token: Swordfish", "token: [hidden]"),
        ("token: Swordfish is", "token: [hidden] is"),
        ("password: The wolf has teeth", "password: [hidden] wolf has teeth"),
        ("token=The wolf has teeth", "token=[hidden] wolf has teeth"),
    ],
)
def test_lines_are_shown_without_secrets(line: str, masked: str | None) -> None:
    assert mask(line) == (line if masked is None else masked)


def test_a_key_of_several_lines_disappears() -> None:
    lines = ["a", "-----BEGIN RSA PRIVATE KEY-----", "MIIE", "-----END RSA PRIVATE KEY-----", "b"]
    assert mask_lines(lines) == ["a", "[hidden]", "b"]


def test_words_of_a_command_are_looked_at() -> None:
    assert [holds_a_secret(w) for w in ("--max-tokens=2048", f"--auth={JWT}")] == [False, True]


HEX40 = "0123456789abcdef0123456789abcdef01234567"
HOOK = "hooks.slack.com/services/"  # put together here, so that nobody takes it for a real one

SECRET_COMMANDS = [
    (("python", "t.py", "--password", "hunter2"), "--password"),
    (("python", "t.py", "--api-key", "hunter2"), "--api-key"),
    (("python", "t.py", "--api_key", "Xy"), "--api_key"),
    (("python", "t.py", "--token=hunter2"), "--token"),
    (("python", "t.py", "--hub_token", "hunter2"), "--hub_token"),
    (("python", "t.py", "-token", "hunter2"), "-token"),
    (("python", "t.py", "logger.wandb.api_key=hunter2"), "logger.wandb.api_key"),
    (("python", "t.py", "+aws.secret_access_key=hunter2"), "+aws.secret_access_key"),
    (("python", "t.py", "--wandb", HEX40), "--wandb"),
    (("env", f"WANDB={HEX40}", "python", "t.py"), "WANDB"),
    (("env", "AUTH=hunter2", "python"), "AUTH"),
    (("bash", "-c", "python t.py --password hunter2 --epochs 3"), "--password"),
    (("bash", "-c", "export HF_TOKEN=hunter2; python t.py"), "HF_TOKEN"),
    (("bash", "-c", "curl -H 'Authorization: Bearer abcDEF123456' host"), ""),
    (("curl", "-u", "me:hunter2", "https://host"), "-u"),
    (("sshpass", "-p", "hunter2", "ssh", "host"), "-p"),
    (("docker", "login", "-p", "hunter2"), "-p"),
    (("wandb", "login", "hunter2hunter2"), "login"),
    (("git", "clone", "https://me:hunter2@host/repo"), ""),
    (("git", "clone", "https://0123456789abcdef0123@host/repo"), ""),
    (("notify", f"https://{HOOK}T0/B0/abcdefgh"), ""),
    (("wget", "https://b.s3.amazonaws.com/x?X-Amz-Signature=0a1b2c3d4e5f"), ""),
    (("azcopy", "https://a.blob.core.windows.net/c?sv=1&sig=abc%2Fdef%3D"), ""),
    (("python", "hf_0123456789abcdefghij"), ""),
    (("python", "sk-ant-api03-0123456789abcdefghij"), ""),
    (("python", "xoxb-0123456789-abcdef"), ""),
    (("python", "AKIAIOSFODNN7EXAMPLE"), ""),
    (("python", "--key", "-----BEGIN OPENSSH PRIVATE KEY-----"), ""),
    (("env", "STORE=AccountName=x;AccountKey=hunter2==;EndpointSuffix=host"), "AccountKey"),
    (("env", "STORE=AccountKey=hunter2==;AccountName=x"), "AccountKey"),
    (("python", "t.py", "AccountName=x;AccountKey=hunter2=="), "AccountKey"),
    (("python", "t.py", "--override", "lr=0.1,wandb.api_key=hunter2"), "wandb.api_key"),
    (
        ("aws", "configure", "set", "aws_secret_access_key", f"wJalr/{HEX40}"),
        "aws_secret_access_key",
    ),
    (("redis-cli", "-a", "hunter2", "ping"), "-a"),
    (("mysqldump", "-phunter2", "db"), "-p"),
]

PLAIN_COMMANDS: list[tuple[str, ...]] = [
    (),
    ("",),
    ("sleep",),
    ("python", "t.py", "--tokenizer", "bert"),
    ("python", "t.py", "--max-tokens", "40"),
    ("python", "t.py", "--token-type", "2"),
    ("python", "t.py", "--max_new_tokens=40", "--pad-token", "<pad>"),
    ("python", "t.py", "--eos_token", "</s>", "--mask-token=[MASK]"),
    ("python", "t.py", "--placeholder_token", "sks", "--initializer_token", "toy"),
    ("python", "t.py", "--input_key", "question", "--label-key", "answer", "--key", "loss"),
    ("python", "t.py", "--image-token-index", "32000", "--tokens-per-batch", "4096"),
    ("python", "t.py", "--use-auth-token", "--epochs", "3"),
    ("python", "t.py", "--use-auth-token", "true"),
    ("python", "t.py", "--token", "$HF_TOKEN", "--api-key", "${WANDB_API_KEY}"),
    ("bash", "-c", "python t.py --token $HF_TOKEN --password $(cat /run/pw)"),
    ("python", "t.py", "--password-file", "/run/secrets/pw", "--credentials", "/etc/gcp/key.json"),
    ("python", "t.py", "--auth", "basic", "--auth-type", "oauth", "--secret-name", "wandb"),
    ("python", "t.py", "--image", f"ghcr.io/acme/lane@sha256:{HEX40}0123456789abcdef01234567"),
    ("python", "t.py", "--revision", HEX40, "--commit", HEX40),
    ("git", "checkout", HEX40),
    ("python", "t.py", "--hf_model_checkpoint_dir", "hf_model_checkpoint_dir"),
    ("python", "-m", "sk-learn-pipeline", "--wandb", "online", "--hf", "true"),
    ("python", "-u", "train.py:main", "-p", "8080"),
    ("ssh", "-p", "22", "host"),
    ("mkdir", "-p", "/out/a"),
    ("torchrun", "--rdzv-id", "abc123def456ghi789jkl", "t.py"),
    ("python", "t.py", "optimizer.lr=0.1", "model.tokenizer=bert", "data.key=image"),
    ("python", "t.py", "--keyboard", "us", "--monkey", "abc", "--author", "ann"),
    ("curl", "-u", "$LOGIN", "https://host/x?page=2"),
    ("python", "t.py", "--override", "lr=0.1,pad_token=0,token=$TOKEN;max_tokens=40"),
    ("python", "t.py", "set_token", "next", "check_api_key", "--verbose"),
    ("mysql", "-p", "-h", "host"),
    ("python", "-phase", "2"),
]


@pytest.mark.parametrize(("words", "where"), SECRET_COMMANDS)
def test_secrets_in_commands_are_found(words: tuple[str, ...], where: str) -> None:
    assert secret_in(words) == where


@pytest.mark.parametrize("words", PLAIN_COMMANDS)
def test_plain_commands_have_no_secrets(words: tuple[str, ...]) -> None:
    assert secret_in(words) is None
    assert mask(" ".join(words)) == " ".join(words)
    assert mask_words(words) == list(words)


@pytest.mark.parametrize(("words", "where"), SECRET_COMMANDS[:10])
def test_secrets_of_older_commands_are_hidden(words: tuple[str, ...], where: str) -> None:
    del where
    for shown in (" ".join(mask_words(words)), mask(" ".join(words))):
        assert HIDDEN in shown
        assert "hunter2" not in shown
        assert HEX40 not in shown


SECRET_LINES = [
    ("STORE=AccountKey=hunter2;n=1", "STORE=AccountKey=[hidden];n=1"),
    (
        "conn: 'AccountName=x;AccountKey=hunter2==;n=1'",
        "conn: 'AccountName=x;AccountKey=[hidden];n=1'",
    ),
    ('{"settings": "lr=1,api_key=hunter2"}', '{"settings": "lr=1,api_key=[hidden]"}'),
    (f"posting to https://{HOOK}T0/B0/abc", f"posting to https://{HOOK}[hidden]"),
    ("https://discord.com/api/webhooks/123/abc-d_e", "https://discord.com/api/webhooks/[hidden]"),
    ("https://acme.webhook.office.com/webhookb2/1@2", "https://acme.webhook.office.com/[hidden]"),
    ("GET /c?sv=2024&sig=abc%2Fdef%3D&se=2026", "GET /c?sv=2024&sig=[hidden]&se=2026"),
    (
        "GET /x?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F2026&X-Amz-Signature=0a1b2c3d4e",
        "GET /x?X-Amz-Credential=[hidden]&X-Amz-Signature=[hidden]",
    ),
    ("AccountName=a;AccountKey=abc/def==;x", "AccountName=a;AccountKey=[hidden];x"),
    ("+ python t.py --password hunter2 --epochs 3", "+ python t.py --password [hidden] --epochs 3"),
    ("Namespace(api_key='hunter2', epochs=3)", "Namespace(api_key=[hidden], epochs=3)"),
    ("Authorization: Basic cXVhcnRlcjptYXN0ZXI=", "Authorization: Basic [hidden]"),
    ("authorization: abcdef123456", "authorization: [hidden]"),
    ("postgres://bot:p@ss@db/x", "postgres://bot:[hidden]@db/x"),
    (f"WANDB={HEX40}", "WANDB=[hidden]"),
    ("key -----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY----- x", "key [hidden] x"),
]
PLAIN_LINES = [
    f"pulled ghcr.io/acme/lane@sha256:{HEX40}0123456789abcdef01234567",
    f"commit: {HEX40}",
    f"HEAD is now at {HEX40[:7]} Fix the tokenizer",
    "tokenizer: GPT2TokenizerFast(pad_token='<pad>', eos_token='</s>')",
    "{'key': 'loss', 'value': 0.3, 'tokens': 3000}",
    "Basic information and bearer authentication failed: basic",
    "auth: ok, signature=0.3, sig=0.01",
    "saving to hf_model_checkpoint_directory_1",
    "Missing key(s) in state_dict: weight. KeyError: image",
    "--max-tokens 40 --token-type 2 --tokenizer bert",
    "loss=0.3 lr=1e-4 tokens_per_second=812.4 author: ann",
]


@pytest.mark.parametrize(("line", "masked"), SECRET_LINES)
def test_secrets_in_lines_are_hidden(line: str, masked: str) -> None:
    assert mask(line) == masked
    assert mask(masked) == masked


@pytest.mark.parametrize("line", PLAIN_LINES)
def test_plain_lines_stay_as_they_are(line: str) -> None:
    assert mask(line) == line


@pytest.mark.parametrize("cut", range(1, 40))
def test_no_half_token_survives_the_cut(cut: int) -> None:
    token = "ghp_" + "0a1B2c3D4e" * 4
    shown = mask("x" * (LONGEST_LINE - cut) + " " + token)
    assert "ghp_" not in shown
    assert len(shown) <= LONGEST_LINE


def test_tokens_that_were_wrapped_are_hidden() -> None:
    token = "ghp_" + "0a1B2c3D4e" * 4
    for place in range(21, len(token) - 1):
        lines = ["y" * 60 + " " + token[:place], "    " + token[place:] + " next"]
        assert mask_lines(lines) == ["y" * 60 + " " + HIDDEN, "next"]


def test_words_after_a_token_stay() -> None:
    lines = ["y" * 60 + " ghp_" + "0a1B2c3D4e" * 4, "then it goes on"]
    assert mask_lines(lines)[1] == "then it goes on"


def test_a_key_that_began_before_is_hidden() -> None:
    lines = ["MIIEvQIBADANBgkqhkiG9w0BAQEF", "c2VjcmV0c2VjcmV0c2VjcmV0"]
    assert mask_lines([*lines, "-----END PRIVATE KEY-----", "b"]) == [HIDDEN, "b"]


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300))
def test_masking_twice_is_masking_once(text: str) -> None:
    assert mask(mask(text)) == mask(text)


def test_long_lines_take_no_time() -> None:
    for piece in ("a=", "://x:", "sig=", "-----BEGIN ", "token ", "eyJ", "sk-", "--a ", "/.", "a-"):
        began = perf_counter()
        mask(piece * 5000)
        secret_in([piece * 2000])
        assert perf_counter() - began < 2


def test_lines_are_masked_then_cut_visibly() -> None:
    secret = "hf_" + "a1B2" * 8
    assert mask_lines(["x" * 15 + f" {secret} and more"], 20) == ["x" * 15 + " [hid…"]
    assert mask_lines(["x" * 20], 20) == ["x" * 20]
    long = mask_lines([f"{secret} " * 200], 7_000)
    assert long == ["[hidden] " * 200]


BEGINNINGS = re.findall(
    r"\S+",
    """
    ghp_ ghs_ github_pat_ glpat- xoxb- xapp- AKIA AIza ya29. hvs. sk- hf_ nvapi- gsk_ r8_ dapi xai-
    wandb_v1_ npm_ pypi- SG. dckr_pat_ sk_live_ rk_live_ glsa_ AGE-SECRET-KEY-1 eyJ GOCSPX- dop_v1_
    https://hooks.slack.com/services/ discord.com/api/webhooks/ api.telegram.org/bot :// @ = : , x 7
    chat.googleapis.com/v1/spaces/ x.webhook.office.com/ postgres://u: sig= X-Amz-Signature= wandb=
    GoogleAccessId= X-Goog-Credential= AWSAccessKeyId= password= dbPasswd: apiKey= token: jwt= SAS=
    pat= cookie: signature= credentials= HF= openai: comet= 0123456789abcdef0123456789ABCDEF loss
    a1b2c3d4e5f6a7b8c9d0e1f2 A1B2C3D4E5F6G7H8I9J0
    """,
)
SPACED = ["Bearer ", "basic ", "Authorization: ", "--pwd ", "--api-key ", " ", '"', "'", "\u017f"]
KEYS = ["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "\u212a"]
PIECES = st.sampled_from([*BEGINNINGS, *SPACED, *KEYS])


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=6).map("".join))
def test_a_quick_look_misses_no_secret(text: str) -> None:
    assert mask(text) == _masked(text)


def test_lines_without_secrets_take_little_time() -> None:
    lines = [f"epoch 1/3 step {step}/400 loss 1.394 images/sec: 804.3" for step in range(2_000)]
    began = process_time()
    assert mask_lines(lines) == lines
    quick = process_time() - began
    began = process_time()
    assert [_masked(line) for line in lines] == lines
    assert quick < (process_time() - began) / 2
