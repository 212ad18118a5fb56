"""Kinds of argument and option values: one class per format, each with an example."""

import hashlib
import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import ClassVar, NamedTuple, Protocol, TypeVar

from bot.durations import format_duration, parse_duration

Value_co = TypeVar("Value_co", covariant=True)


class ValueType(Protocol[Value_co]):
    """A form of value: reads what a person wrote, and says what would be right.

    `word` stands for the value in help (`--gpus COUNT`), `form` completes the sentence
    "takes ...", and `example` is a text that reads.
    """

    @property
    def word(self) -> str: ...  # noqa: D102 - said above
    @property
    def form(self) -> str: ...  # noqa: D102 - said above
    @property
    def example(self) -> str: ...  # noqa: D102 - said above

    def read(self, text: str) -> Value_co:
        """The value of `text`; ValueError if the format does not match."""
        ...


class Pattern:
    """Text that fully matches one regular expression, kept as written."""

    rule: ClassVar[re.Pattern[str]]

    def read(self, text: str) -> str:
        """`text` itself."""
        return matched(self.rule, text).group()


LONGEST_NAME = 30
"""The longest name of a run: its objects have room for what Kubernetes puts behind it."""

_MARK = 6


def short_name(name: str) -> str:
    """The name itself if it is short enough; else its beginning, and a mark that tells it apart.

    The same name always has the same short one.
    """
    if len(name) <= LONGEST_NAME:
        return name
    mark = hashlib.sha256(name.encode()).hexdigest()[:_MARK]
    return f"{name[: LONGEST_NAME - _MARK - 1].rstrip('-')}-{mark}"


class ShortName(Pattern):
    """A name of lower-case letters, digits and hyphens, at most 30."""

    word = "NAME"
    rule = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,28}[a-z0-9])?")
    form = "a name of at most 30 lower-case letters, digits and hyphens"
    example = "lane"


class RunName:
    """The name of a new run; one of more than 30 characters is shortened."""

    word = "NAME"
    rule = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
    form = "a name of lower-case letters, digits and hyphens"
    example = "lane"

    def read(self, text: str) -> str:
        """The name, shortened if it is long."""
        return short_name(matched(self.rule, text).group())


class Reference(NamedTuple):
    """A reference to a run: the newest with that name, or a chosen one of several."""

    name: str
    number: int | None = None

    @property
    def spelled(self) -> str:
        """The reference as it is written."""
        return self.name if self.number is None else f"{self.name}#{self.number}"


class RunReference:
    """A run that exists: `lane` is the newest of that name, `lane#2` a chosen one."""

    word = "RUN"
    form = "the name of a run; `lane` is the newest run with that name, `lane#2` the second"
    example = "lane"
    rule = re.compile(rf"({RunName.rule.pattern})(?:#([1-9][0-9]{{0,5}}))?")

    def read(self, text: str) -> Reference:
        """The name and, where one was written, the number."""
        name, number = matched(self.rule, text).groups()
        return Reference(name, int(number) if number else None)


class RunEnd(NamedTuple):
    """The end of a run: its success, or `is_any` end."""

    run: Reference
    is_any: bool

    @property
    def spelled(self) -> str:
        """The end as it is written."""
        return f"{self.run.spelled}:any" if self.is_any else self.run.spelled


class RunEndReference:
    """The end of a run that exists: `prep` is its success, `prep:any` any end."""

    word = "RUN[:any]"
    form = "the name of a run, which has to succeed, or `run:any` for any end"
    example = "prep"
    rule = re.compile(rf"({RunReference.rule.pattern})(:any)?")

    def read(self, text: str) -> RunEnd:
        """The run, and whether any end will do."""
        match = matched(self.rule, text)
        name, number, anyhow = match.group(2, 3, 4)
        return RunEnd(Reference(name, int(number) if number else None), anyhow is not None)


class TeamName(Pattern):
    """A team as the configuration names it."""

    word = "TEAM"
    rule = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
    form = "a team's name: lower-case letters, digits and hyphens"
    example = "team-a"


class ClusterName(Pattern):
    """A cluster as the configuration names it."""

    word = "CLUSTER"
    rule = TeamName.rule
    form = "a cluster's name: lower-case letters, digits and hyphens"
    example = "default"


class PersonId:
    """A person, as Slack writes a mention of them: `@U0ALICE`."""

    word = "PERSON"
    form = "a mention of a person, such as `@alice`"
    example = "@U0ALICE"
    rule = re.compile(r"@?([UW][A-Z0-9]{2,20})")

    def read(self, text: str) -> str:
        """The person's id."""
        return matched(self.rule, text).group(1)


@dataclass(frozen=True)
class WholeNumber:
    """A whole number within two limits, both allowed."""

    minimum: int
    maximum: int
    word = "N"

    @property
    def form(self) -> str:
        """The two limits in words."""
        return f"a whole number from {self.minimum} to {self.maximum}"

    @property
    def example(self) -> str:
        """A number well within the limits."""
        return str(min(max(self.minimum, 2), self.maximum))

    def read(self, text: str) -> int:
        """The number."""
        number = int(matched(_WHOLE, text).group())
        if not self.minimum <= number <= self.maximum:
            raise ValueError(text)
        return number


@dataclass(frozen=True)
class GpuCount:
    """The number of GPUs of a run, or a fraction of one (0.5) if the cluster shares GPUs."""

    minimum: int = 1
    maximum: int = 1024
    word = "COUNT"
    rule = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,2})?")

    @property
    def form(self) -> str:
        """The two limits in words."""
        limits = f"from {self.minimum} to {self.maximum}"
        return f"a number of GPUs {limits}, or a fraction of one such as `0.5`"

    @property
    def example(self) -> str:
        """A number within the limits."""
        return str(min(max(self.minimum, 2), self.maximum))

    def read(self, text: str) -> Decimal:
        """The number; a value below 1 is a fraction."""
        number = Decimal(matched(self.rule, text).group())
        if number > self.maximum or (number < self.minimum and not 0 < number < 1):
            raise ValueError(text)
        return number


class Nodes(NamedTuple):
    """The minimum and maximum number of nodes of a run; equal if it cannot change."""

    fewest: int
    most: int

    @property
    def spelled(self) -> str:
        """The numbers as they are written."""
        return str(self.most) if self.fewest == self.most else f"{self.fewest}:{self.most}"


@dataclass(frozen=True)
class NodeCount:
    """A number of nodes, or the minimum and maximum of an elastic run, such as `1:3`."""

    maximum: int = 512
    word = "N"
    example = "2"
    rule = re.compile(r"([1-9][0-9]{0,3})(?::([1-9][0-9]{0,3}))?")

    @property
    def form(self) -> str:
        """Both forms and the limits in words."""
        limits = f"from 1 to {self.maximum}"
        return f"a number of nodes {limits}, or a minimum and a maximum such as `1:3`"

    def read(self, text: str) -> Nodes:
        """The two numbers, the smaller one first."""
        fewest, most = matched(self.rule, text).groups()
        nodes = Nodes(int(fewest), int(most or fewest))
        if not nodes.fewest <= nodes.most <= self.maximum:
            raise ValueError(text)
        return nodes


class Amount(NamedTuple):
    """A number of GPUs: a change (`relative`) of what is there, or a new total."""

    value: int
    relative: bool

    @property
    def spelled(self) -> str:
        """The amount as it is written."""
        return f"{self.value:+d}" if self.relative else str(self.value)


class GpuAmount:
    """A change by a number of GPUs (`+8`, `-2`), or a new total (`12`)."""

    word = "AMOUNT"
    form = "a change such as `+8` or `-2`, or a new total such as `12`"
    example = "+8"
    rule = re.compile(r"([+-]?)([0-9]{1,5})")

    def read(self, text: str) -> Amount:
        """The signed change or the total; a change by nothing is none."""
        sign, digits = matched(self.rule, text).groups()
        if sign and not int(digits):
            raise ValueError(text)
        return Amount(int(sign + digits), relative=bool(sign))


@dataclass(frozen=True)
class Duration:
    """A length of time such as `15m`, `8h`, `3d` or `1d12h`, within two limits."""

    minimum: timedelta = timedelta(minutes=1)
    maximum: timedelta = timedelta(days=365)
    word = "TIME"

    @property
    def form(self) -> str:
        """The form and the two limits in words."""
        limits = f"from {_duration(self.minimum)} to {_duration(self.maximum)}"
        return f"a duration such as `15m`, `8h` or `1d12h`, {limits}"

    @property
    def example(self) -> str:
        """A length within the limits."""
        return _duration(min(max(self.minimum, timedelta(hours=8)), self.maximum))

    def read(self, text: str) -> timedelta:
        """The length of time."""
        length = parse_duration(text)
        if not self.minimum <= length <= self.maximum:
            raise ValueError(text)
        return length


@dataclass(frozen=True)
class Text:
    """Free text; more than one word needs quotes."""

    maximum: int = 300
    word = "TEXT"
    example = '"CVPR deadline"'

    @property
    def form(self) -> str:
        """The limit in words."""
        return f"quoted text of at most {self.maximum} characters"

    def read(self, text: str) -> str:
        """The text without space around it."""
        cleaned = text.strip()
        if not cleaned or len(cleaned) > self.maximum:
            raise ValueError(text)
        return cleaned


class Choice:
    """One word of a fixed set."""

    def __init__(self, *words: str, word: str = "WORD") -> None:
        self.words = words
        self.word = word

    @property
    def form(self) -> str:
        """The words to choose from."""
        return "one of " + ", ".join(f"`{word}`" for word in self.words)

    @property
    def example(self) -> str:
        """The first word."""
        return self.words[0]

    def read(self, text: str) -> str:
        """The word, in the letter case it was declared in."""
        for word in self.words:
            if word.casefold() == text.casefold():
                return word
        raise ValueError(text)


_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")


def matched(rule: re.Pattern[str], text: str) -> re.Match[str]:
    """The match of all of `text`; ValueError if there is none."""
    found = rule.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return found


def _duration(length: timedelta) -> str:
    return format_duration(length).replace(" ", "")
