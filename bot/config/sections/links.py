"""Links of runs to other tools: where their addresses come from."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, StringConstraints, model_validator

from bot.config.sections.section import Section

PLACEHOLDERS = (
    *("run", "team", "namespace", "cluster", "pods", "started", "ended"),
    *("repository", "commit"),
)
"""What `{name}` may stand for in an address, besides the variables `{env.NAME}`."""

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_HOST = r"https?://[^/\s{}*?#@]+/"
_VARIABLE = re.compile(r"env\.[A-Za-z_][A-Za-z0-9_]*")


def _template(text: str) -> str:
    if not re.fullmatch(rf"{_HOST}\S*", text):
        raise ValueError("it must begin with a whole host, like https://grafana.example.com/d/")
    unknown = [name for name in PLACEHOLDER.findall(text) if not _is_known(name)]
    if unknown or "{" in PLACEHOLDER.sub("", text) or "}" in PLACEHOLDER.sub("", text):
        known = ", ".join(f"{{{name}}}" for name in (*PLACEHOLDERS, "env.NAME"))
        raise ValueError(f"what stands in braces must be one of {known}")
    return text


def _is_known(name: str) -> bool:
    return name in PLACEHOLDERS or _VARIABLE.fullmatch(name) is not None


def _searched(text: str) -> str:
    if not re.fullmatch(rf"{_HOST}[^\s\"'<>|]*", text):
        raise ValueError(
            "it must begin with a whole host, and `*` stands for any part of the rest, like"
            " https://wandb.ai/*/*/runs/*"
        )
    return text


class RunLink(Section):
    """A button on the cards of runs that opens another tool: `url`, or an address `in_log`."""

    label: Annotated[str, StringConstraints(min_length=1, max_length=30)]
    """What the button says."""

    url: Annotated[str, StringConstraints(max_length=1000), AfterValidator(_template)] | None = None
    """The address, with placeholders: `https://grafana.example.com/d/gpu?from={started}`. A run
    that has no value for one of them gets no button."""

    in_log: Annotated[str, StringConstraints(max_length=300), AfterValidator(_searched)] | None = (
        None
    )
    """The form of an address that the program prints, such as `https://wandb.ai/*/*/runs/*`; the
    last one in the log counts."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.url is None) == (self.in_log is None):
            raise ValueError(
                "a link needs either url or in_log, for example"
                " {label: W&B, in_log: 'https://wandb.ai/*/*/runs/*'}"
            )
        return self


def _distinct(links: tuple[RunLink, ...]) -> tuple[RunLink, ...]:
    labels = [each.label for each in links]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise ValueError(f"each link needs a label of its own, but {twice} stands there twice")
    return links


RunLinks = Annotated[tuple[RunLink, ...], AfterValidator(_distinct)]
"""Links, each with its own label: what was found in a log is kept under it."""
