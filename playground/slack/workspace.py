"""The workspace as people use it: they type, click and fill forms, and look at the result."""

from collections.abc import Iterable

from playground.slack import acting, dropping, events, forms, methods_steps, posting, touching
from playground.slack.faults import Down
from playground.slack.people import BOT_USER, TEAM, Message
from playground.slack.shapes import Json
from playground.slack.state import State
from playground.slack.steps import StepExecution
from playground.slack.views import View


class Workspace(State):
    """A Slack workspace with one installed app, driven by its people and by the app's requests.

    `base_url` is where `SlackApp` is served; set it before the bot connects. All methods
    belong on the event loop that serves the app. Limits run on `monotonic`, message times on
    `clock`.
    """

    def text_of(self, message: Message) -> str:
        """A message as plain text, the way it reads on the screen."""
        return posting.text_of(self, message)

    async def slash(self, user: str, channel: str, text: str) -> list[Message]:
        """A person types a slash command; returns what Slack shows as the direct answer.

        A bot that does not answer leaves Slack's own error there, for this person only.
        """
        return await acting.slash(self, user, channel, text)

    async def mention(
        self, user: str, channel: str, text: str, thread_ts: str | None = None
    ) -> Message:
        """A person writes to the bot in a channel or thread; @Quartermaster is put first."""
        return acting.mention(self, user, channel, text, thread_ts)

    async def write(
        self, user: str, channel: str, text: str, thread_ts: str | None = None
    ) -> Message:
        """A person writes a message, which calls the bot only if it says so."""
        return acting.write(self, user, channel, text, thread_ts)

    async def drop(
        self,
        user: str,
        channel: str,
        files: Iterable[tuple[str, bytes]],
        text: str = "",
        thread_ts: str | None = None,
    ) -> Message:
        """A person drops files, as names and contents, into a channel or thread."""
        message = Message(self.channel(channel).id, "", user, text, thread_ts=thread_ts)
        return dropping.drop(self, message, files)

    async def rewrite(self, user: str, message: Message, text: str) -> None:
        """A person edits a message of theirs."""
        acting.rewrite(self, user, message, text)

    async def click(
        self,
        user: str,
        where: Message | View,
        control: str,
        *,
        confirm: bool = False,
        option: str | None = None,
        block: str | None = None,
    ) -> Json | None:
        """A person uses a button or menu, named by action_id or label; returns the dialog shown.

        A control that asks first needs `confirm=True`; a menu needs the `option`, by value or
        label. Raises PersonError when this person cannot see it or did not confirm.
        """
        act = touching.Touch(user, control, confirm=confirm, option=option, block=block)
        return await touching.click(self, where, act)

    async def shortcut(self, user: str, name: str, message: Message | None = None) -> None:
        """A person uses a shortcut of the app, of a message or of the menu beside the text."""
        await acting.shortcut(self, user, name, message)

    async def submit_view(self, user: str, view: View, values: Json) -> dict[str, str]:
        """A person fills a form (by block_id, action_id or label) and sends it; returns errors."""
        return await forms.submit_view(self, user, view, values)

    async def change_field(
        self,
        user: str,
        view: View,
        name: str,
        value: str | list[str],
        others: Json | None = None,
    ) -> None:
        """A person changes one field of a form, by block_id, action_id or label.

        `others` are what other fields hold by now, of which the bot learns along with it.
        """
        await forms.change_field(self, user, view, {**(others or {}), name: value}, name)

    async def search_options(self, user: str, view: View, name: str, typed: str) -> list[Json]:
        """A person types into a field of a form; returns the options that they are offered."""
        return await forms.search_options(self, user, view, name, typed)

    async def close_view(self, user: str, view: View) -> None:
        """A person closes a form without sending it."""
        await forms.close_view(self, user, view)

    async def open_home(self, user: str, *, tab: str = "home") -> None:
        """A person opens the app's Home tab, or its tab `messages`, which is the same event."""
        acting.open_home(self, user, tab)

    def prompts_of(self, user: str) -> list[Json]:
        """The prompts that the agent view suggests to a person."""
        return acting.prompts(self, user)

    async def choose(self, user: str, title: str) -> Message:
        """A person chooses a suggested prompt of the agent view; returns the message it sends."""
        return acting.choose(self, user, title)

    async def run_step(self, callback_id: str, inputs: Json) -> StepExecution:
        """A workflow comes to a step of the app, with what its author filled in."""
        return methods_steps.run(self, callback_id, inputs)

    async def again(self) -> str:
        """Slack delivers the last act of anyone to the bot once more; returns what it was."""
        return await acting.again(self)

    def go_down(self, how: Down) -> None:
        """Takes Slack away: sockets break, requests fail, payloads are not delivered."""
        self.faults.down = how
        self.sockets.drop_all()
        self.changed()

    def come_up(self) -> None:
        """Brings Slack back."""
        self.faults.down = None
        self.changed()

    def archive(self, channel: str) -> None:
        """Archives a channel."""
        self.channels[channel].is_archived = True
        self.changed()

    def share(self, channel: str, *people: str, is_shared: bool = True) -> None:
        """Another company comes into a channel with people of it, or leaves it with all of them."""
        place = self.channels[channel]
        if not is_shared:
            place.members = [each for each in place.members if self.users[each].team_id == TEAM]
        place.members += people
        place.is_ext_shared, place.is_pending_ext_shared = is_shared, False
        events.shared(self, place)
        self.changed()

    def share_in_organisation(self, channel: str, *people: str) -> None:
        """Another workspace of the organisation comes into a channel with people of it."""
        place = self.channels[channel]
        place.members += people
        place.is_org_shared = True
        self.changed()

    def remove_bot(self, channel: str) -> None:
        """Takes the bot out of a channel."""
        self.channels[channel].members.remove(BOT_USER)
        self.changed()

    def invite_bot(self, channel: str) -> None:
        """What /invite does for the bot."""
        place = self.channels[channel]
        if BOT_USER not in place.members:
            place.members.append(BOT_USER)
            events.joined(self, place, BOT_USER)
        self.changed()

    def delete(self, message: Message, *, by: str = BOT_USER) -> None:
        """Takes a message away, as an admin or its author can."""
        posting.delete(self, message, by)
