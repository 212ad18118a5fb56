"""Tells secrets from other text: in what people type, and in what programs and servers say."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

HIDDEN = "[hidden]"
LONGEST_LINE = 2000

# What is beyond the cut is looked at too, so that no token is known by its end alone.
_BEYOND = 4096
_WRAPPED_FROM = 60
_LONGEST_ANSWER = 64 * 1024
_PEM_BEGINS = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")
_PEM_ENDS = re.compile(r"-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")
_PEM = re.compile(rf"{_PEM_BEGINS.pattern}.*?(?:{_PEM_ENDS.pattern}|\Z)", re.DOTALL)
_PEM_LINE = re.compile(r"\s*[A-Za-z0-9+/]{16,}={0,2}\s*")
_TOKENS = re.compile(
    r"\beyJ[\w-]{6,}\.[\w-]{2,}(?:\.[\w-]*)?"  # JSON web tokens
    r"|\bxox[abeprs](?:\.xox[bp])?-[\w-]{8,}|\bxapp-[\w-]{8,}"  # Slack
    r"|\bgh[opsur]_[A-Za-z0-9]{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w.-]{16,}"  # code hosts
    r"|\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}"  # clouds
    r"|\bGOCSPX-[\w-]{16,}|\bdop_v1_[a-f0-9]{32,}|\bhvs\.[\w-]{20,}|\bglsa_\w{20,}"
    r"|(?<![\w-])sk-(?=[\w-]{0,99}[A-Za-z0-9]{16})(?=[\w-]{0,99}[0-9])[\w-]{16,}"  # model hosts
    r"|\bhf_[A-Za-z0-9]{16,}|\bnvapi-[\w-]{16,}|\b(?:gsk|r8)_[A-Za-z0-9]{20,}"
    r"|\bwandb_v1_\w{16,}|\bdapi[a-f0-9]{32}\b|\bxai-[A-Za-z0-9]{20,}"
    r"|\bnpm_[A-Za-z0-9]{30,}|\bpypi-[\w-]{30,}|\bdckr_pat_[\w-]{16,}"  # registries
    r"|\bqmput1\.[\w=-]{16,}"  # our own grants of uploads
    r"|\bSG\.[\w-]{16,}\.[\w-]{16,}|\b[sr]k_live_\w{16,}|\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"
)
# Addresses at which whoever knows them may post.
_HOOKS = re.compile(
    r"(\bhooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
    r"|\bdiscord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/"
    r"|(?<![\w-])[\w-]{1,63}\.webhook\.office\.com/"
    r"|\bapi\.telegram\.org/bot"
    r"|\bchat\.googleapis\.com/v1/spaces/)(?!\[hidden\])[^\s\"'<>)]+"
)
_PARAMETER = re.compile(
    r"((?<![\w-])(?:sig|x-(?:amz|goog)-(?:signature|credential|security-token)|awsaccesskeyid"
    r"|googleaccessid)[\"']?\s{0,4}[=:]\s{0,4}[\"']?)(?!\[hidden\])(?=[^\s&\"']*[A-Za-z])"
    r"[^\s&\"',;})]{6,}",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(\w://[^\s/:@\"']{0,100}:)(?!\[hidden\])[^\s/\"']+@|(\w://)[\w.-]{20,}@")
_BEARER = re.compile(r"\b([Bb]earer|BEARER|[Bb]asic)(\s+)(?=[a-z.~+/:-]*[0-9A-Z=_])[\w.~+/=:-]{8,}")
_HEADER = re.compile(
    r"(\b(?:proxy-)?authorization\W{1,4}(?:(?:bearer|basic|token|digest)\s+)?)"
    r"(?!\[hidden\]|(?:bearer|basic|token|digest)\b)[\w.~+/=:-]{6,}",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"(?P<lead>(?<![\w-])(?P<name>-{0,2}[\w.-]{1,100})[\"']?\s{0,4}[=:]\s{0,4})"
    r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s,;&\"'})]+)"
)
_OPTION = re.compile(
    r"(?<![\w-])(--?(?P<name>[A-Za-z][\w-]{1,100})\s+)(?P<value>\"[^\"]*\"|'[^']*'|[^\s-]\S*)"
)
_ASSIGNED = re.compile(r"(?:-{0,2}|-D|\+{1,2})([A-Za-z_][\w.-]*)=(.+)", re.DOTALL)
# As in connection strings, addresses and lists of settings: the last of `STORE=AccountKey=abc==`.
_INNER = re.compile(
    r"(?P<lead>(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{0,100})=)"
    r"(?P<value>[^\s,;&?\"'})=]+=*)(?=[\s,;&?\"'})]|\Z)"
)

_MENTION = re.compile(r"<(?=[@#!])")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# What any text has that one of the patterns finds something in, in small letters. Looking for it
# takes a thirtieth of the time, and most of what programs say has none of it.
_TOKEN_HINTS = (
    *("eyj", "xox", "xapp-", "gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_", "glpat-"),
    *("akia", "asia", "abia", "acca", "aiza", "ya29.", "gocspx-", "dop_v1_", "hvs.", "glsa_"),
    *("sk-", "hf_", "nvapi-", "gsk_", "r8_", "wandb_v1_", "dapi", "xai-", "npm_", "pypi-"),
    *("qmput1.", "dckr_pat_", "sg.", "sk_live_", "rk_live_", "age-secret-key-1"),
    *("hooks.slack", "webhook", "api.telegram", "chat.googleapis"),
)
_NAME_HINTS = (
    *("password", "passwd", "passphrase", "secret", "credential", "pwd", "token", "key", "auth"),
    *("bearer", "basic", "cookie", "jwt", "sas", "pat", "sig", "x-amz-", "x-goog-"),
    *("wandb", "hf", "huggingface", "openai", "anthropic", "comet", "neptune", "clearml"),
    *("googleaccessid", "://", "-----begin"),
)
_PASSWORD = re.compile(r".*(?:password|passwd|passphrase|secret|credentials?|pwd)")
_GLUED = re.compile(r".*(?:token|apikey|accesskey|secretkey)")
_WHOLE = {"auth", "authorization", "bearer", "cookie", "jwt", "sas", "pat", "sig", "signature"}
_GLUING = {"mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump"}
_SERVICES = {"wandb", "hf", "huggingface", "openai", "anthropic", "comet", "neptune", "clearml"}
# A name that ends so is of something about a secret, or of what models call tokens and keys.
_ABOUT = {
    *("file", "path", "dir", "name", "id", "ids", "type", "types", "env", "var", "ref", "count"),
    *("length", "len", "size", "limit", "num", "index", "idx", "policy", "mode", "ttl", "expiry"),
    *("header", "prefix", "url", "uri", "field", "store", "provider", "version", "class"),
}
_OF_TEXT = {
    *("pad", "eos", "bos", "unk", "cls", "sep", "mask", "special", "image", "audio", "video"),
    *("stop", "start", "end", "trigger", "placeholder", "initializer", "instance", "think"),
    *("vision", "speech", "per", "num", "max", "min", "next", "first", "last", "text", "prompt"),
    *("decoder", "bom", "eot", "eom", "turn", "separator", "delimiter", "modifier"),
}
_OF_DATA = {
    *("public", "primary", "sort", "group", "partition", "image", "text", "label", "caption"),
    *("input", "output", "prompt", "response", "target", "map", "dict", "feature", "obs"),
    *("state", "foreign", "index", "column", "row", "cache", "metric", "loss", "query", "hot"),
}
_STRONG = {"api", "access", "account", "auth", "private", "encryption", "license", "ssh"}
_VARIANT = re.compile(r"[0-9]+|[a-z]|prod|dev|test|staging|read|write|ro|rw|new|old|b64|base64")
_SETTING = re.compile(
    r"|.|true|false|none|null|yes|no|on|off|basic|digest|iam|oauth2?|oidc|ok|required|optional"
    r"|enabled|disabled|bearer|token|<[^<>]*>|\[[A-Za-z]*\]|\*+|</?s>|<\|.*\|>",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\$[A-Za-z_{(].*|@?(?:\.{0,2}|~)(?:/[\w.-]+){1,12}/?|[\w.-]+\.(?:json|ya?ml|pem|txt|toml)"
)
_SENTENCE = re.compile(r"[A-Z][a-z]{0,11} [a-z]{2,} ")
_NUMBER = re.compile(r"[0-9]{1,12}|[0-9]*\.[0-9]+")
_PLAIN_WORD = re.compile(r"[a-z_]{1,20}")
_RANDOM = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[\w-]{20,}")
_KEY = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[\w/+=-]{20,}")
_TOKEN_ENDS = re.compile(r"[\w+/=-]$")
_TOKEN_GOES_ON = re.compile(r"\s*((?=[\w+/=-]*[0-9A-Z])[\w+/=-]+)")


def names_a_secret(name: str) -> bool:
    """Whether a variable or option of this name holds a secret: API_KEY; not MAX_TOKENS."""
    words = _words(name)
    if not words or words[-1] in _ABOUT:
        return False
    while len(words) > 1 and _VARIANT.fullmatch(words[-1]):
        words.pop()
    last, before = words[-1], {*words[:-1]}
    if any(_PASSWORD.fullmatch(each) for each in words) or last in _WHOLE:
        return True
    if last == "key":
        return not before & _OF_DATA
    return bool(_GLUED.fullmatch(last)) and not before & _OF_TEXT


def is_secret(name: str, value: str) -> bool:
    """Whether a variable or option looks as if it held a secret, by its name or its value."""
    if holds_a_secret(value):
        return True
    if _SETTING.fullmatch(value) or _REFERENCE.fullmatch(value):
        return False
    words = _words(name)
    if words and words[-1] in _SERVICES:
        return bool(_RANDOM.fullmatch(value))
    if not names_a_secret(name):
        return False
    if any(_PASSWORD.fullmatch(each) for each in words):
        return True
    # Programs count tokens, and keys choose columns.
    is_column = name == name.lower() and words[-1] == "key" and not (_STRONG | _SERVICES) & {*words}
    return not (is_column and _PLAIN_WORD.fullmatch(value)) and not _NUMBER.fullmatch(value)


def _words(name: str) -> list[str]:
    return [each for each in re.split(r"[^a-z0-9]+", _CAMEL.sub("_", name).lower()) if each]


def holds_a_secret(text: str) -> bool:
    """Whether the text has something in it that only a secret looks like."""
    if not _has_one(text, _TOKEN_HINTS) and not _has_one(text, _NAME_HINTS):
        return False
    forms = (_TOKENS, _LOGIN, _PEM_BEGINS, _HOOKS, _PARAMETER, _BEARER)
    return any(each.search(text) for each in forms)


def secret_in(words: Sequence[str]) -> str | None:
    """What of a command looks like a secret: the option or variable before it, empty for a word.

    None where nothing does.
    """
    program = words[0].rpartition("/")[2] if words else ""
    for word, following in pairwise((*words, "")):
        found = "-p" if _is_glued(program, word) else _in_word(word)
        if found is None:
            found = _in_pair(word, following, _passing(program, words))
        if found is not None:
            return found
    return None


def mask(text: str, most: int = LONGEST_LINE) -> str:
    """Text without what looks like a secret, and then cut to so many characters."""
    text = text[: most + _BEYOND]
    may_be_token = _has_one(text, _TOKEN_HINTS)
    if not may_be_token and not _has_one(text, _NAME_HINTS):
        return text[:most]
    return _masked(text, may_be_token=may_be_token)[:most]


def _masked(text: str, *, may_be_token: bool = True) -> str:
    text = _PEM.sub(HIDDEN, text)
    text = _HOOKS.sub(rf"\1{HIDDEN}", text) if may_be_token else text
    text = _PARAMETER.sub(rf"\1{HIDDEN}", text)
    text = _TOKENS.sub(HIDDEN, text) if may_be_token else text
    text = _BEARER.sub(rf"\1\2{HIDDEN}", text)
    text = _HEADER.sub(rf"\1{HIDDEN}", text)
    text = _LOGIN.sub(lambda found: f"{found[1] or found[2]}{HIDDEN}@", text)
    text = _INNER.sub(_masked_pair, _PAIR.sub(_masked_pair, text))
    return _OPTION.sub(_masked_option, text)


def _has_one(text: str, hints: Iterable[str]) -> bool:
    small = text.casefold()
    return any(hint in small for hint in hints)


def hide_secrets(text: str) -> str:
    """What a server or a program said, of one line or several, without what looks like a secret."""
    return mask(text, _LONGEST_ANSWER)


def without_mentions(text: str) -> str:
    """What a server or a program said, so that no person or channel in it is called by it."""
    return _MENTION.sub("< ", text)


def mask_words(words: Sequence[str]) -> list[str]:
    """The words of a command without what looks like a secret."""
    masked = [hide_secrets(word) for word in words]
    for place, (word, following) in enumerate(pairwise(words)):
        if _in_pair(word, following, ()) is not None:
            masked[place + 1] = HIDDEN
    return masked


def mask_lines(lines: Iterable[str], most: int = LONGEST_LINE) -> list[str]:
    """The lines without secrets: private keys of several lines, and what was wrapped, included.

    Longer ones are cut after that, with a mark.
    """
    kept: list[str] = []
    in_key = False
    for line in _unwrapped(list(lines)):
        if _PEM_ENDS.search(line) and not in_key and not _PEM_BEGINS.search(line):
            # The key began before these lines did.
            while kept and _PEM_LINE.fullmatch(kept[-1]):
                kept.pop()
            kept.append(HIDDEN)
            continue
        begins = _PEM_BEGINS.search(line)
        if begins or not in_key:
            kept.append(_cut(line, most))
        in_key = (bool(begins) or in_key) and not _PEM_ENDS.search(line)
    return kept


def _cut(line: str, most: int) -> str:
    """The line without secrets, with a mark where something of it is left out."""
    masked = mask(line, most + 1)
    is_whole = len(masked) <= most and len(line) <= most + 1 + _BEYOND
    return masked if is_whole else f"{masked[:most]}…"


def _unwrapped(lines: list[str]) -> Iterator[str]:
    """The lines; of a token that a terminal's width broke, all is where it began."""
    for place, line in enumerate(lines[:-1]):
        rest = _TOKEN_GOES_ON.match(lines[place + 1])
        if len(line) < _WRAPPED_FROM or not rest or not _TOKEN_ENDS.search(line):
            continue
        whole = line + rest[1]
        if _has_one(whole, _TOKEN_HINTS) and any(
            len(line) < each.end() for each in _TOKENS.finditer(whole)
        ):
            lines[place] = whole
            lines[place + 1] = lines[place + 1][rest.end() :].strip()
    yield from lines


def _in_word(word: str) -> str | None:
    """What within one word looks like a secret; a word may be a whole script."""
    assigned = _ASSIGNED.fullmatch(word)
    if assigned is not None and is_secret(*assigned.groups()):
        return word.partition("=")[0]
    if holds_a_secret(word):
        return ""
    for pair in _INNER.finditer(word):
        if is_secret(pair["name"], pair["value"]):
            return pair["name"]
    inner = word.split()
    return secret_in([each.strip("\"';()") for each in inner]) if len(inner) > 1 else None


def _in_pair(word: str, following: str, passing: Sequence[str]) -> str | None:
    """The option, where the word after it looks like a secret."""
    if not following or following.startswith("--"):
        return None
    if word in passing:
        is_login = word not in {"-u", "--user"} or ":" in following
        is_given = _REFERENCE.fullmatch(following) or following.startswith("-")
        return word if is_login and not is_given else None
    if "=" in word or len(word) <= len("-p"):
        return None
    if not word.startswith("-"):  # as in `aws configure set aws_secret_access_key VALUE`
        is_name = "_" in word and word.isidentifier() and names_a_secret(word)
        is_key = _KEY.fullmatch(following) and not _REFERENCE.fullmatch(following)
        return word if is_name and is_key else None
    return word if is_secret(word, following) else None


def _is_glued(program: str, word: str) -> bool:
    """Whether a word is a password that follows its option without a space: `mysql -phunter2`."""
    return program in _GLUING and re.fullmatch(r"-p[^$].*", word) is not None


def _passing(program: str, words: Sequence[str]) -> tuple[str, ...]:
    """The words after which a program is given a secret, where their names do not say so."""
    if program == "sshpass" or (program in {"docker", "podman", "helm"} and "login" in words):
        return ("-p",)
    if program == "redis-cli":
        return ("-a",)
    if program == "curl":
        return ("-u", "--user")
    return ("login",) if program == "wandb" else ()


def _masked_pair(match: re.Match[str]) -> str:
    value = match["value"].strip("\"'")
    if match["value"].startswith(HIDDEN[:-1]) or not is_secret(match["name"], value):
        return match.group()
    return match.group() if _begins_a_sentence(match) else match["lead"] + HIDDEN


def _begins_a_sentence(match: re.Match[str]) -> bool:
    """Whether the value is the first word of a sentence: `InvalidToken: The token has expired`."""
    if any(_PASSWORD.fullmatch(each) for each in _words(match["name"])):
        return False
    return _SENTENCE.match(match.string, match.end("lead")) is not None and ":" in match["lead"]


def _masked_option(match: re.Match[str]) -> str:
    value = match["value"].strip("\"'")
    is_hidden = match["value"].startswith(HIDDEN[:-1])
    return match.group() if is_hidden or not is_secret(match["name"], value) else match[1] + HIDDEN
