"""Results of the doctor's checks."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """The result of one check; `remedy` says how to fix a problem."""

    about: str
    state: Literal["ok", "warning", "failed"]
    says: str
    remedy: str = ""

    @property
    def failed(self) -> bool:
        """Whether the bot cannot work in this state."""
        return self.state == "failed"

    def as_dict(self) -> dict[str, str]:
        """The finding for machines."""
        return asdict(self)

    def as_line(self) -> str:
        """The finding for a terminal."""
        mark = {"ok": "ok     ", "warning": "warning", "failed": "FAILED "}[self.state]
        remedy = f"\n{'':>9}-> {self.remedy}" if self.remedy else ""
        return f"{mark}  {self.about}: {self.says}{remedy}"


Findings = Iterator[Finding]
