"""Links of runs to other tools, as buttons or in a line: W&B, MLflow, Grafana, the commit."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Protocol
from urllib.parse import quote

from bot.config.sections.links import PLACEHOLDER, RunLink
from bot.masking import holds_a_secret, is_secret
from bot.slack.card import Button
from bot.slack.markup import Markup, join, named_link, plain
from bot.training.spec import RunSpec

LINK = "train.link"
"""The button that Slack opens by itself; it reports the click all the same."""

MLFLOW = "MLflow"
"""What the button of a run says that the bot exports to MLflow."""

_LONGEST = 2_000
_LONGEST_LINE = 2_500
# Control characters end an address: some programs print in colours even where nothing shows them.
_ADDRESS = re.compile(r"https?://[^\s\"'<>|\x00-\x1f\x7f]+")
_ENDS_SENTENCE = ".,;:!?)]}'"
_SCHEME = re.compile(r"[a-z+]+://")


class LinkedRun(Protocol):
    """What addresses are made from, of a run."""

    @property
    def team(self) -> str: ...  # noqa: D102
    @property
    def namespace(self) -> str: ...  # noqa: D102
    @property
    def cluster(self) -> str: ...  # noqa: D102
    @property
    def job_name(self) -> str: ...  # noqa: D102
    @property
    def started_at(self) -> datetime | None: ...  # noqa: D102
    @property
    def ended_at(self) -> datetime | None: ...  # noqa: D102
    @property
    def links(self) -> Mapping[str, str]: ...  # noqa: D102
    @property
    def mlflow_url(self) -> str: ...  # noqa: D102


def link_buttons(run: LinkedRun, spec: RunSpec, links: Sequence[RunLink]) -> tuple[Button, ...]:
    """A button for each link whose address is known, in the order of the configuration."""
    return tuple(Button(LINK, label, "", url=url) for label, url in _known(run, spec, links))


def link_line(run: LinkedRun, spec: RunSpec, links: Sequence[RunLink]) -> tuple[Markup, ...]:
    """A line with each link whose address is known; none if there is none.

    A section of Slack's has 3,000 characters, so those that are too long are only counted.
    """
    left, shown, left_out = _LONGEST_LINE, list[Markup](), 0
    for label, url in _known(run, spec, links):
        link = named_link(url, label)
        left_out += len(link) > left
        if len(link) <= left:
            left -= len(link)
            shown.append(link)
    more = [plain(f"{left_out} more on its card")] if left_out else []
    parts = [part for each in (*shown, *more) for part in (" · ", each)]
    return (join("Open in ", *parts[1:]),) if shown else tuple(more)


def _known(run: LinkedRun, spec: RunSpec, links: Sequence[RunLink]) -> Iterator[tuple[str, str]]:
    """Label and address of each link whose address is known; MLflow's last, if it is exported."""
    values = dict(_values(run, spec)) if links else {}
    for each in links:
        if each.url is not None:
            url = _filled(each.url, values)
        else:  # what was kept must have the form that is configured now
            url = run.links.get(each.label)
            url = url if url and each.in_log and _fits(url, each.in_log) else None
        if url:
            yield each.label, url
    if run.mlflow_url and MLFLOW not in {each.label for each in links}:
        yield MLFLOW, run.mlflow_url


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


def _values(run: LinkedRun, spec: RunSpec) -> Iterator[tuple[str, str]]:
    """The values of all placeholders that this run has, as they stand in an address."""
    for name in ("team", "namespace", "cluster"):
        yield name, _quoted(getattr(run, name))
    yield "run", (name := _quoted(run.job_name))
    yield "pods", f"{name}-.%2A"
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


@lru_cache(maxsize=1024)  # Home tabs of hundreds of people ask for the same few
def _quoted(text: str) -> str:
    return quote(text, safe="")


def _path(repository: str) -> str:
    """`acme/lane`, also of `https://github.com/acme/lane.git`."""
    path = _SCHEME.sub("", repository)
    host, _, rest = path.partition("/")
    return (rest if rest and "." in host else path).strip("/").removesuffix(".git")
