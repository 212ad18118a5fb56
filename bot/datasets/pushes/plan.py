"""What somebody wants pushed, as it was said and as it is confirmed."""

import msgspec

from bot.datasets.push_tables import spelled
from bot.errors import UsageError


class Wish(msgspec.Struct, frozen=True, omit_defaults=True):
    """What `/dataset push` was told: the value of a button, so its keys are short.

    It is a folder of a PVC, or else of a `snapshot`. `dataset` is what the target is to be, None
    where that was not said.
    """

    claim: str = msgspec.field(name="c")
    folder: str = msgspec.field(name="p")
    target: str = msgspec.field(name="u")
    store: str | None = msgspec.field(name="s", default=None)
    dataset: str | None = msgspec.field(name="d", default=None)
    version: str | None = msgspec.field(name="v", default=None)
    note: str = msgspec.field(name="n", default="")
    is_overwriting: bool = msgspec.field(name="o", default=False)
    team: str = msgspec.field(name="t", default="")
    snapshot: str = msgspec.field(name="k", default="")

    @property
    def source(self) -> str:
        """What is to be pushed, as people write it."""
        return spelled(self.claim, self.snapshot, self.folder)


# msgspec looks into a class when it first meets it, and a thread that meets it meanwhile crashes.
_DECODER = msgspec.json.Decoder(Wish)
_LONGEST = 1900


def written(wish: Wish) -> str:
    """The wish as the value of a button; UsageError where Slack would not take it."""
    text = msgspec.json.encode(wish).decode()
    if len(text) > _LONGEST:
        raise UsageError("The command is too long for a button.", "Shorten the note or the paths.")
    return text


def read(value: str) -> Wish:
    """The wish of a button; UsageError when it is of another time."""
    try:
        return _DECODER.decode(value)
    except msgspec.MsgspecError:
        raise UsageError("This button is out of date.", "Type the command again.") from None
