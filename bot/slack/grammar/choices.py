"""Kinds of values that choose several words of a fixed set."""


class SomeOf:
    """One or more words of a fixed set, separated by commas."""

    def __init__(self, *words: str, word: str) -> None:
        self.words = words
        self.word = word

    @property
    def form(self) -> str:
        """The words to choose from."""
        return f"one or more of `{','.join(self.words)}`, separated by commas, or `all`"

    @property
    def example(self) -> str:
        """The first two."""
        return ",".join(self.words[:2])

    def read(self, text: str) -> tuple[str, ...]:
        """The words, in the order in which they were declared."""
        wanted = {each.strip().casefold() for each in text.split(",")}
        if wanted == {"all"}:
            return self.words
        if wanted - set(self.words):
            raise ValueError(text)
        return tuple(each for each in self.words if each in wanted)
