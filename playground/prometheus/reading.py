"""PromQL as far as the bot speaks it, read into expressions; everything else is refused."""

import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from playground.prometheus.operators import (
    Aggregate,
    Arithmetic,
    Compare,
    Join,
    Label,
    Or,
    Scale,
)
from playground.prometheus.selecting import Expression, Matcher, OverTime, Selector

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<string>"(?:[^"\\]|\\.)*")
    |(?P<duration>\d+[smhd])
    |(?P<number>\d+(?:\.\d+)?(?:e\d+)?)
    |(?P<word>[a-zA-Z_][a-zA-Z0-9_]*)
    |(?P<sign><=|==|=~|!=|[<=(){}\[\],:+*/])
    )""",
    re.VERBOSE,
)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_AGGREGATES, _FUNCTIONS = {"max", "sum", "count"}, {"avg", "max", "sum", "count", "last"}
_ESCAPE = re.compile(r"\\(.)")


class ParseError(Exception):
    """What is wrong with a query, in Prometheus' words, and at which column."""

    def __init__(self, column: int, words: str) -> None:
        super().__init__(f"1:{column}: parse error: {words}")


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


def read(query: str) -> Expression:
    """The expression; ParseError where it is none, or one that nobody here understands."""
    reader = _Reader(_tokens(query))
    expression = reader.whole()
    reader.ends()
    return expression


def _tokens(query: str) -> list[_Token]:
    found, place, end = [], 0, len(query.rstrip())
    while place < end:
        match = _TOKEN.match(query, place)
        if match is None or match.lastgroup is None:
            raise ParseError(place + 1, f"unexpected character: {query[place]!r}")
        found.append(
            _Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup) + 1)
        )
        place = match.end()
    return [*found, _Token("end", "", len(query) + 1)]


class _Reader:
    """Reads one expression, from the weakest operator to the strongest."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._place = 0

    def whole(self) -> Expression:
        left = self._compared()
        while self._takes("or"):
            left = Or(left, self._compared())
        return left

    def ends(self) -> None:
        if self._next.kind != "end":
            self._refuse()

    def _compared(self) -> Expression:
        left = self._sum()
        for sign in ("<=", "<", "=="):
            if self._takes(sign):
                return Compare(sign, left, self._number())
        return left

    def _sum(self) -> Expression:
        left = self._product()
        while self._takes("+"):
            left = Arithmetic("+", left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._one()
        while True:
            if self._takes("*"):
                self._expect("on")
                on = self._names()
                self._expect("group_left")
                self._expect("(")
                self._expect(")")
                left = Join(left, on, self._one())
            elif self._takes("/"):
                is_number = self._next.kind == "number"
                left = Scale(left, self._number()) if is_number else self._divided(left)
            else:
                return left

    def _divided(self, left: Expression) -> Expression:
        return Arithmetic("/", left, self._one())

    def _one(self) -> Expression:
        if self._takes("("):
            inner = self.whole()
            self._expect(")")
            return inner
        is_call = self._after.text in {"(", "by"}
        if self._next.kind == "word" and is_call:
            return self._call()
        return self._selector()

    def _call(self) -> Expression:
        token = self._take()
        if token.text in _AGGREGATES:
            by = self._names() if self._takes("by") else ()
            return Aggregate(token.text, by, self._in_brackets(self.whole))
        if token.text == "label_replace":
            return self._in_brackets(self._labelled)
        function, _, rest = token.text.partition("_")
        if function not in _FUNCTIONS or rest != "over_time":
            raise ParseError(token.column, f'unknown function with name "{token.text}"')
        return self._in_brackets(lambda: self._over_time(function))

    def _in_brackets(self, read_inner: Callable[[], Expression]) -> Expression:
        self._expect("(")
        inner = read_inner()
        self._expect(")")
        return inner

    def _labelled(self) -> Expression:
        """A label that is set whatever was there: of no other label, by no other pattern."""
        inner = self.whole()
        words = []
        for _ in range(4):
            self._expect(",")
            words.append(self._string())
        if words[2:] != ["", ""]:
            self._refuse()
        return Label(inner, words[0], words[1])

    def _over_time(self, function: str) -> Expression:
        inner = self._one()
        self._expect("[")
        seconds = self._duration()
        if not isinstance(inner, Selector):
            self._refuse()
        self._expect("]")
        return OverTime(function, inner, seconds)

    def _selector(self) -> Expression:
        matchers = []
        if self._next.kind == "word":
            matchers.append(Matcher("__name__", "=", self._take().text))
        if self._takes("{"):
            while not self._takes("}"):
                matchers.append(self._matcher())
                if not self._takes(",") and self._next.text != "}":
                    self._refuse()
        if not matchers:
            self._refuse()
        return Selector(tuple(matchers))

    def _matcher(self) -> Matcher:
        label = self._word()
        sign = self._take()
        if sign.text not in {"=", "!=", "=~"}:
            self._refuse(sign)
        return Matcher(label, sign.text, self._string())

    def _names(self) -> tuple[str, ...]:
        self._expect("(")
        names = [self._word()]
        while self._takes(","):
            names.append(self._word())
        self._expect(")")
        return tuple(names)

    def _string(self) -> str:
        return _ESCAPE.sub(r"\1", self._of("string").text[1:-1])

    def _number(self) -> float:
        return float(self._of("number").text)

    def _duration(self) -> int:
        text = self._of("duration").text
        return int(text[:-1]) * _UNITS[text[-1]]

    def _word(self) -> str:
        return self._of("word").text

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    @property
    def _after(self) -> _Token:
        return self._tokens[min(self._place + 1, len(self._tokens) - 1)]

    def _take(self) -> _Token:
        token = self._next
        self._place = min(self._place + 1, len(self._tokens) - 1)
        return token

    def _takes(self, text: str) -> bool:
        is_there = self._next.text == text and self._next.kind in {"sign", "word"}
        if is_there:
            self._take()
        return is_there

    def _of(self, kind: str) -> _Token:
        if self._next.kind != kind:
            self._refuse()
        return self._take()

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            self._refuse()

    def _refuse(self, token: _Token | None = None) -> NoReturn:
        at = token or self._next
        what = f'"{at.text}"' if at.text else "end of input"
        raise ParseError(at.column, f"unexpected {what}")
