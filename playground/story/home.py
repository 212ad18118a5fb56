"""The Home tab of a person in a scenario: what it shows, and its buttons."""

from dataclasses import dataclass

from playground.slack.errors import PersonError
from playground.slack.people import Message
from playground.slack.views import View
from playground.story.context import StoryContext
from playground.story.expectations import Words, says, says_all, spelled


@dataclass(frozen=True)
class OpenHome:
    """A person's Home tab, which is always read as it is now."""

    story: StoryContext
    user: str

    @property
    def text(self) -> str:
        """What it shows now; nothing before the bot has published it."""
        view = self._view
        if view is None:
            return ""
        return self.story.world.slack.text_of(Message("", "", self.user, "", view.body["blocks"]))

    async def shows(self, *words: Words) -> None:
        """Waits until it shows all of this at once."""
        await self.story.until(
            lambda: says_all(self.text, words),
            lambda: f"the Home tab does not show {spelled(words)}; it shows:\n{self.text}",
        )

    async def hides(self, *words: Words) -> None:
        """Waits until it shows none of this."""
        await self.story.until(
            lambda: bool(self.text) and not any(says(self.text, each) for each in words),
            lambda: f"the Home tab still shows {spelled(words)}:\n{self.text}",
        )

    async def clicks(self, label: str, *, confirming: Words | None = None) -> None:
        """The person clicks the first button of this label; one that asks needs its words."""
        view = self._view
        if view is None:
            self.story.fail("the Home tab is empty")
        await self.story.bot_is_there()
        try:
            dialog = await self.story.world.slack.click(
                self.user, view, label, confirm=confirming is not None
            )
        except PersonError as error:
            self.story.fail(f"{label} cannot be clicked: {error}\n{self.text}")
        asked = f"{dialog['title']['text']} {dialog['text']['text']}" if dialog else ""
        if confirming is not None and not says(asked, confirming):
            self.story.fail(f"the dialog of {label} does not say {confirming}, but: {asked}")

    @property
    def _view(self) -> View | None:
        return self.story.world.slack.views.homes.get(self.user)
