"""The button that shows the next page of a listing, and what its value says."""

import msgspec

from bot.datasets.browsing.listing import ListRequest
from bot.errors import UsageError
from bot.slack.card import Button

NEXT = "dataset.page"
_LONGEST = 2_000


class PageRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A page of a listing of a version, for a team; `is_named` if the team was typed.

    It is the value of a button, so its keys are short.
    """

    version_id: str = msgspec.field(name="v")
    team: str = msgspec.field(name="t")
    is_named: bool = msgspec.field(name="m", default=False)
    path: str = msgspec.field(name="p", default="")
    search: str = msgspec.field(name="s", default="")
    is_largest: bool = msgspec.field(name="l", default=False)
    page: int = msgspec.field(name="n", default=1)

    @property
    def request(self) -> ListRequest:
        """What to list."""
        return ListRequest(self.path, self.search, self.is_largest, self.page)


# msgspec inspects a class on first use, and a second thread doing so at that moment crashes.
_DECODER = msgspec.json.Decoder(PageRequest)


def page_buttons(asked: PageRequest) -> tuple[Button, ...]:
    """The button that shows a page; none if the path is too long for one."""
    value = msgspec.json.encode(asked).decode()
    return (Button(NEXT, "Next page", value),) if len(value) <= _LONGEST else ()


def read(value: str) -> PageRequest:
    """The page in the value of a button; UsageError if the button is out of date."""
    try:
        found = _DECODER.decode(value)
    except msgspec.MsgspecError:
        found = None
    if found is None or found.page < 1:
        raise UsageError("This button is out of date.", "Type the command again.")
    return found
