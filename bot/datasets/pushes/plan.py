"""The request for a push, and its encoding in the value of a button."""

import msgspec

from bot.datasets.tables import spelled
from bot.errors import UsageError


class PushRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """The input of `/dataset push`. It is also the value of a button, so its keys are short.

    The source is a folder of a PVC, or of a `snapshot`. `dataset` is the dataset that the target
    should become, None if not given. Without a `cluster`, it is the first one of the team's that
    datasets are in; for files of a computer or of Slack, that of the dataset's newest version.
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
    cluster: str = msgspec.field(name="l", default="")

    @property
    def source(self) -> str:
        """The source, as people write it."""
        return spelled(self.claim, self.snapshot, self.folder)


# msgspec inspects a class on first use, and a second thread doing so at that moment crashes.
_DECODER = msgspec.json.Decoder(PushRequest)
_LONGEST = 1900


def written(request: PushRequest) -> str:
    """The request as the value of a button; UsageError if it is too long for Slack."""
    text = msgspec.json.encode(request).decode()
    if len(text) > _LONGEST:
        raise UsageError("The command is too long for a button.", "Shorten the note or the paths.")
    return text


def read(value: str) -> PushRequest:
    """The request in the value of a button; UsageError if the button is out of date."""
    try:
        return _DECODER.decode(value)
    except msgspec.MsgspecError:
        raise UsageError("This button is out of date.", "Type the command again.") from None
