"""A real Prometheus for the tests, with what it would have scraped in the past."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import NoReturn

import pytest

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser()  # noqa: TID251  # as make
_FOLDER = _CACHE / "quartermaster/prometheus/usr/bin"
_ADDRESS = re.compile(r"Listening on.*address=(?P<address>127\.0\.0\.1:\d+)")
_EVERY = timedelta(minutes=1)
_SCRAPING = """
scrape_configs:
  - job_name: gpus
    honor_labels: true
    scrape_interval: 1s
    static_configs: [{targets: ["%s"], labels: {%s}}]
"""


Span = tuple[datetime, datetime]


class Scraped:
    """What an exporter said, minute by minute."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str]] = {}

    def add(self, metric: str, labels: Mapping[str, str], times: Span, value: float) -> None:
        """One value for every minute of `times`."""
        told = ",".join(f'{name}="{each}"' for name, each in labels.items())
        moment, end = times
        while moment < end:
            line = f"{metric}{{{told}}} {value:g} {moment.timestamp():.0f}"
            self._lines.setdefault(metric, []).append(line)
            moment += _EVERY

    @property
    def text(self) -> str:
        """All of it in the OpenMetrics format."""
        parts: Iterable[str] = (
            line
            for metric, lines in self._lines.items()
            for line in (f"# TYPE {metric} gauge", *lines)
        )
        return "\n".join((*parts, "# EOF", ""))


@contextmanager
def prometheus(
    folder: Path,
    scraped: Scraped,
    *options: str,
    tls: bool = False,
    exporter: str = "",
    labels: str = "",
) -> Iterator[str]:
    """The address of a server that knows what was scraped; skips where the program is absent.

    It goes on scraping the `exporter` (host and port) every second, whose labels it leaves alone.
    `labels` (like `namespace: lab`) are those of what it scrapes.
    """
    server, tool = prometheus_program("prometheus"), prometheus_program("promtool")
    text, data = folder / "scraped.txt", folder / "data"
    text.write_text(scraped.text)
    data.mkdir()
    made = ["tsdb", "create-blocks-from", "openmetrics", str(text), str(data)]
    subprocess.run([tool, *made], check=True, capture_output=True, timeout=60)
    (folder / "prometheus.yml").write_text(_SCRAPING % (exporter, labels) if exporter else "")
    process = subprocess.Popen(
        [
            server,
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={data}",
            "--storage.tsdb.retention.time=100y",
            "--web.listen-address=127.0.0.1:0",
            *options,
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        scheme = "https" if tls else "http"
        yield f"{scheme}://{_address(process)}"
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _address(process: subprocess.Popen[str]) -> str:
    address, is_ready = "", False
    assert process.stderr is not None
    for line in process.stderr:
        found = _ADDRESS.search(line)
        address = found["address"] if found else address
        is_ready = is_ready or "Server is ready to receive web requests" in line
        if address and is_ready:
            return address
    raise RuntimeError("Prometheus ended before it was ready")


def prometheus_program(name: str) -> str:
    """The path of `prometheus` or `promtool`; skips where it is absent."""
    found = shutil.which(name) or shutil.which(name, path=str(_FOLDER))
    return found or _absent()


def _absent() -> NoReturn:
    message = "prometheus was not found; `make test` says how to install it"
    pytest.skip(message)
