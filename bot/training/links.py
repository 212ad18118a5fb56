"""Buttons on cards of runs that open other tools: W&B, MLflow, Grafana, the commit."""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from bot.config.links import PLACEHOLDER, RunLink
from bot.masking import holds_a_secret, is_secret
from bot.slack.card import Button
from bot.training.spec import RunSpec
from bot.training.tables import Run

LINK = "train.link"
"""The button that Slack opens by itself; it reports the click all the same."""

_LONGEST = 2_000
_ADDRESS = re.compile(r"https?://[^\s\"'<>|]+")
_ENDS_SENTENCE = ".,;:!?)]}'"
_SCHEME = re.compile(r"[a-z+]+://")


def link_buttons(run: Run, spec: RunSpec, links: Sequence[RunLink]) -> tuple[Button, ...]:
    """A button for each link whose address is known, in the order of the configuration."""
    values = dict(_values(run, spec))
    found = (
        (each.label, run.links.get(each.label) if each.url is None else _filled(each.url, values))
        for each in links
    )
    return tuple(Button(LINK, label, "", url=address) for label, address in found if address)


def find_links(
    lines: Sequence[str], links: Sequence[RunLink], before: Mapping[str, str]
) -> dict[str, str]:
    """The addresses in the log after these lines, by label; the last of each form counts."""
    found = dict(before)
    searched = [(each.label, each.in_log) for each in links if each.in_log]
    for line in lines if searched else ():
        for match in _ADDRESS.finditer(line) if "://" in line else ():
            address = match[0].rstrip(_ENDS_SENTENCE)
            if len(address) > _LONGEST:
                continue
            for label, form in searched:
                if _fits(address, form) and not holds_a_secret(address):
                    found[label] = address
    return found


def _fits(address: str, form: str) -> bool:
    """Whether the address has this form; in one pass, because programs choose what they print."""
    first, *parts = form.split("*")
    if not parts:
        return address == form
    place = len(first) if address.startswith(first) else -1
    for part in parts[:-1]:
        begins = address.find(part, place) if place >= 0 else -1
        place = begins + len(part) if begins >= 0 else -1
    return place >= 0 and address.endswith(parts[-1]) and len(address) >= place + len(parts[-1])


def _filled(template: str, values: Mapping[str, str]) -> str | None:
    if any(name not in values for name in PLACEHOLDER.findall(template)):
        return None
    address = PLACEHOLDER.sub(lambda match: values[match[1]], template)
    return address if len(address) <= _LONGEST else None


def _values(run: Run, spec: RunSpec) -> Iterator[tuple[str, str]]:
    """The values of all placeholders that this run has, as they stand in an address."""
    for name in ("team", "namespace", "cluster"):
        yield name, quote(getattr(run, name), safe="")
    yield "run", quote(run.job_name, safe="")
    yield "pods", quote(f"{run.job_name}-.*", safe="")
    if run.started_at is not None:
        yield "started", str(int(run.started_at.timestamp() * 1000))
        yield "ended", str(int(run.ended_at.timestamp() * 1000)) if run.ended_at else "now"
    if spec.code:
        repository, _, commit = spec.code.rpartition("@")
        yield "repository", quote(_path(repository), safe="/")
        yield "commit", commit
    for each in spec.env:
        if each.value and not is_secret(each.name, each.value):
            yield f"env.{each.name}", quote(each.value, safe="")


def _path(repository: str) -> str:
    """`acme/lane`, also of `https://github.com/acme/lane.git`."""
    path = _SCHEME.sub("", repository)
    host, _, rest = path.partition("/")
    return (rest if rest and "." in host else path).strip("/").removesuffix(".git")
