"""People of a scenario: what they do, and what they are shown."""

from collections.abc import Mapping
from dataclasses import dataclass

from playground.slack.acting import OVERDUE
from playground.slack.errors import PersonError
from playground.slack.people import SLACKBOT, Message
from playground.slack.touching import TROUBLE
from playground.slack.transcript import Entry, Kind
from playground.slack.views import View
from playground.story.context import StoryContext
from playground.story.expectations import Words, says_all, spelled
from playground.story.home import OpenHome

_TRIES = 20


@dataclass(frozen=True)
class Card:
    """A message of the bot that a story follows; it is always read as it is now."""

    story: StoryContext
    message: Message

    @property
    def text(self) -> str:
        """What it says now, as people read it."""
        return self.story.world.slack.text_of(self.message)

    async def shows(self, *words: Words) -> None:
        """Waits until it says all of this at once."""
        await self.story.until(
            lambda: says_all(self.text, words),
            lambda: f"the card does not show {spelled(words)}; it shows:\n{self.text}",
        )

    async def offers(self, *labels: str) -> None:
        """Waits until it has these buttons and no others."""
        await self.story.until(
            lambda: self.buttons() == list(labels),
            lambda: f"the card does not offer {list(labels)}, but {self.buttons()}:\n{self.text}",
        )

    def buttons(self) -> list[str]:
        """The labels of its buttons, from left to right."""
        return [
            element["text"]["text"]
            for block in self.message.blocks
            for element in block.get("elements", ())
            if isinstance(element, dict) and element.get("type") == "button"
        ]


@dataclass(frozen=True)
class OpenForm:
    """A form in front of a person."""

    person: "Person"
    view: View

    async def is_sent(self, **values: str | list[str]) -> None:
        """Fills fields, by their names with `_` for `-`, and sends it; it must close."""
        errors = await self._send(values)
        if errors:
            self.person.story.fail(f"the form does not take {values}, but says: {errors}")

    async def is_refused(self, *words: Words, **values: str | list[str]) -> None:
        """Fills and sends it; it must stay open and say this beside its fields."""
        told = "\n".join((await self._send(values)).values())
        if not says_all(told, words):
            self.person.story.fail(f"the form does not say {spelled(words)}, but: {told}")

    async def fills(self, name: str, value: str | list[str]) -> None:
        """Changes one field, by its name with `_` for `-`."""
        slack = self.person.story.world.slack
        await slack.change_field(self.person.id, self.view, name.replace("_", "-"), value)

    async def is_offered(self, name: str, typed: str, *words: Words) -> None:
        """Types into a field with options to search for; they must say this."""
        slack = self.person.story.world.slack
        found = await slack.search_options(self.person.id, self.view, name, typed)
        told = "\n".join(option["text"]["text"] for option in found)
        if not says_all(told, words):
            self.person.story.fail(f"{name} does not offer {spelled(words)}, but: {told}")

    async def says(self, *words: Words) -> None:
        """Waits until the form says this."""

        def text() -> str:
            blocks = self.view.body["blocks"]
            return "\n".join(each["text"]["text"] for each in blocks if each["type"] == "section")

        await self.person.story.until(
            lambda: says_all(text(), words) or None,
            lambda: f"the form does not say {spelled(words)}, but: {text()}",
        )

    async def _send(self, values: dict[str, str | list[str]]) -> dict[str, str]:
        slack = self.person.story.world.slack
        fields = {name.replace("_", "-"): value for name, value in values.items()}
        return await slack.submit_view(self.person.id, self.view, fields)


@dataclass(frozen=True)
class Person:
    """A person of the workspace, as a scenario uses them."""

    story: StoryContext
    id: str
    name: str

    async def types(self, channel: str, text: str) -> None:
        """Types a slash command in a channel; in an unreliable story again until it is heard."""
        for _ in range(_TRIES):
            await self.story.bot_is_there()
            shown = await self.story.world.slack.slash(self.id, self.story.channel(channel), text)
            failures = [each.text for each in shown if each.user == SLACKBOT]
            if not self.story.unreliable and any(OVERDUE in each for each in failures):
                self.story.fail(f"{self.name} typed {text}, and Slack says: {failures[0]}")
            if not (self.story.unreliable and failures):
                return
            self.story.expectations.take(self._failed)
        self.story.fail(f"{self.name} typed {text} {_TRIES} times without an answer")

    async def mentions(self, channel: str, text: str, *, thread: Card | None = None) -> None:
        """Writes to @Quartermaster in a channel, or in the thread of a card."""
        await self.story.bot_is_there()
        where = thread.message.ts if thread else None
        await self.story.world.slack.mention(self.id, self.story.channel(channel), text, where)

    async def writes(self, text: str, *, thread: Card | None = None) -> Message:
        """Writes to the bot in a direct message, or in the thread of one."""
        await self.story.bot_is_there()
        slack, where = self.story.world.slack, thread.message.ts if thread else None
        return await slack.mention(self.id, slack.im(self.id).id, text, where)

    async def drops(
        self, channel: str, files: Mapping[str, bytes], *, thread: Card | None = None
    ) -> Card:
        """Drops files into a channel, or into the thread of a card."""
        where, slack = thread.message.ts if thread else None, self.story.world.slack
        there = self.story.channel(channel)
        message = await slack.drop(self.id, there, files.items(), thread_ts=where)
        return Card(self.story, message)

    async def opens_home(self) -> OpenHome:
        """Opens the Home tab of the bot."""
        await self.story.bot_is_there()
        await self.story.world.slack.open_home(self.id)
        return OpenHome(self.story, self.id)

    async def is_suggested(self, *titles: str) -> None:
        """Opens the direct messages with the bot, and waits until these prompts are there."""
        await self.story.bot_is_there()
        slack = self.story.world.slack
        await slack.open_home(self.id, tab="messages")
        shown: list[str] = []

        def are_there() -> bool:
            shown[:] = [each["title"] for each in slack.prompts_of(self.id)]
            return shown == list(titles)

        await self.story.until(
            are_there, lambda: f"{self.name} is not suggested {list(titles)}, but {shown}"
        )

    async def chooses(self, title: str) -> Card:
        """Chooses a suggested prompt; returns the message that it sends."""
        await self.story.bot_is_there()
        return Card(self.story, await self.story.world.slack.choose(self.id, title))

    async def uses(self, shortcut: str, card: Card | None = None) -> None:
        """Uses a shortcut of a card's menu, or of the menu beside the text box."""
        await self.story.bot_is_there()
        message = card.message if card else None
        await self.story.world.slack.shortcut(self.id, shortcut, message)

    async def clicks(self, card: Card, label: str, *, confirming: Words | None = None) -> None:
        """Clicks a button; one that asks first needs the words of its dialog to confirm."""
        for attempt in range(_TRIES):
            await self.story.bot_is_there()
            if attempt and label not in card.buttons():
                return
            before = len(self.story.world.slack.transcript.entries)
            await self._click(card, label, confirming)
            if not self._was_not_heard(before):
                return
            if not self.story.unreliable:
                self.story.fail(f"{self.name} clicked {label}, and Slack says: {TROUBLE}")
            self.story.expectations.take(self._failed)
        self.story.fail(f"{self.name} clicked {label} {_TRIES} times without an answer")

    async def is_asked(self, title: str) -> OpenForm:
        """Waits for a form with this title."""
        views = self.story.world.slack.views

        def form() -> OpenForm | None:
            view = views.top(self.id)
            is_it = view is not None and view.body["title"]["text"] == title
            return OpenForm(self, view) if view is not None and is_it else None

        return await self.story.until(form, lambda: f"{self.name} sees no form {title}")

    async def is_told(self, *words: Words) -> Card | None:
        """Waits for an answer that only this person sees; an unreliable story has none."""
        if self.story.unreliable:
            return None

        def told() -> Card | None:
            entry = self.story.expectations.take(lambda each: self._fits(each, words))
            return Card(self.story, self.story.expectations.message(entry)) if entry else None

        return await self.story.until(
            told, lambda: f"{self.name} is not shown {spelled(words)}; {self._last()}"
        )

    async def is_mentioned(
        self, channel: str, *words: Words, thread: Card | None = None, broadcast: bool = False
    ) -> Card:
        """Waits for a message that notifies this person, in a channel or in a card's thread."""
        story, place = self.story, self.story.channel(channel)

        def fits(entry: Entry) -> bool:
            if entry.channel != place or self.id not in entry.notified:
                return False
            message = story.expectations.message(entry)
            in_thread = thread is None or entry.thread_ts == thread.message.ts
            return in_thread and message.broadcast == broadcast and says_all(entry.text, words)

        wanted = f"{self.name} is not mentioned with {spelled(words)}"
        return Card(story, await story.sees(fits, wanted))

    async def is_written_to(self, *words: Words) -> Card:
        """Waits for a direct message of the bot to this person."""
        place = self.story.world.slack.im(self.id).id

        def fits(entry: Entry) -> bool:
            return entry.channel == place and not entry.viewer and says_all(entry.text, words)

        wanted = f"{self.name} gets no direct message {spelled(words)}"
        return Card(self.story, await self.story.sees(fits, wanted))

    async def _click(self, card: Card, label: str, confirming: Words | None) -> None:
        confirms = confirming is not None
        try:
            dialog = await self.story.world.slack.click(
                self.id, card.message, label, confirm=confirms
            )
        except PersonError as error:
            self.story.fail(f"{self.name} cannot click {label}: {error}\n{card.text}")
        asked = f"{dialog['title']['text']} {dialog['text']['text']}" if dialog else ""
        if confirming is not None and not says_all(asked, [confirming]):
            self.story.fail(f"the dialog of {label} does not say {confirming}, but: {asked}")

    def _was_not_heard(self, before: int) -> bool:
        new = self.story.world.slack.transcript.entries[before:]
        return any(self._failed(entry) for entry in new)

    def _failed(self, entry: Entry) -> bool:
        return entry.kind is Kind.FAILED and entry.by == self.id

    def _fits(self, entry: Entry, words: tuple[Words, ...]) -> bool:
        text = self.story.expectations.text(entry)
        return entry.viewer == self.id and entry.kind is Kind.POSTED and says_all(text, words)

    def _last(self) -> str:
        own = [e for e in self.story.expectations.unexpected() if e.viewer == self.id]
        return f"but:\n{own[-1].text}" if own else "nothing else was shown to them either"
