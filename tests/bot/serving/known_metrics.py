"""Every metric that the bot shows, and the table of them; as a program, it writes the table."""

import pkgutil
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from prometheus_client.metrics import MetricWrapperBase

import bot
from bot.gauges import GaugeSpec
from bot.serving import metrics as row_metrics

PAGE = Path("docs/monitoring.md")
_TABLE = re.compile(r"(?<=<!-- metrics -->\n\n).*?(?=\n<!-- end -->)", re.DOTALL)


class Known(NamedTuple):
    """A metric as the page shows it."""

    name: str
    type: str
    labels: tuple[str, ...]
    help: str


def known() -> Mapping[str, Known]:
    """All of them, by name."""
    return {each.name: each for each in sorted({*_counted(), *_of_rows()})}


def series() -> frozenset[str]:
    """The names that Prometheus has of them: a histogram has several."""
    names = set()
    for each in known().values():
        parts = ("_bucket", "_sum", "_count") if each.type == "histogram" else ("",)
        names |= {f"{each.name}{part}" for part in parts}
    return frozenset(names)


def written(page: str) -> str:
    """The page with the table as it is now."""
    rows = [
        f"| `{name}` | {kind} | {', '.join(labels) or '-'} | {says} |"
        for name, kind, labels, says in known().values()
    ]
    table = "\n".join(("| metric | type | labels | meaning |", "|---|---|---|---|", *rows, ""))
    return _TABLE.sub(lambda _: table, page)


def _modules(last: str) -> Iterator[object]:
    for found in pkgutil.walk_packages(bot.__path__, "bot."):
        if found.name.rpartition(".")[2] == last:
            yield import_module(found.name)


def _of_rows() -> Iterator[Known]:
    for module in (*_modules("gauges"), row_metrics):
        for each in vars(module).values():
            if isinstance(each, GaugeSpec):
                yield Known(each.name, "gauge", each.labels, each.help)


def _counted() -> Iterator[Known]:
    for module in (*_modules("metrics"), *_modules("health")):
        for each in vars(module).values():
            if isinstance(each, MetricWrapperBase):
                (family,) = each.describe()
                name = f"{family.name}_total" if family.type == "counter" else family.name
                labels = each._labelnames
                yield Known(name, family.type, tuple(labels), family.documentation)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
