"""How commands are written in one place: with a slash, or after a mention."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Spelling:
    """How commands are written in one place: `/train`, `/qm-train`, `@Quartermaster train`.

    The verbs of the `umbrella` command itself are written after `own` alone: `/qm whoami`.
    """

    lead: str = "/"
    umbrella: str = ""
    own: str = ""

    def of(self, words: str) -> str:
        """`words`, a command's name and what follows it, as it is typed here."""
        first, _, rest = words.partition(" ")
        if self.umbrella and first == self.umbrella:
            return f"{self.own}{rest}".rstrip()
        return f"{self.lead}{words}".rstrip()
