"""Prompts that the agent view suggests: commands which the person may use."""

from bot.database.database import Session
from bot.people.access import Access, Right
from bot.slack.card import Prompt, Reply
from bot.slack.grammar.registry import Registry
from bot.slack.receiving.incoming import Incoming

_OF_TEAMS = {
    "train list": "Show my team's runs",
    "quota status": "Show my team's GPU quota",
    "gpu status": "Show how busy the GPUs are",
}
_HELP = Prompt("What can I do here?", "help")


class PromptRequests:
    """Answers what to suggest to a person who opens their direct messages with the bot."""

    def __init__(self, registry: Registry, access: Access) -> None:
        self._registry = registry
        self._access = access

    def answer(self, session: Session, incoming: Incoming) -> Reply:
        """The reply with the prompts; it raises what `Access.callers` raises."""
        callers = self._access.callers(session, incoming.person, incoming.channel)
        if callers[0].team is None:
            whoami = Prompt("Who am I here?", f"{self._registry.umbrella} whoami")
            return Reply(prompts=(_HELP, whoami))
        offered = [
            Prompt(title, words)
            for words, title in _OF_TEAMS.items()
            if any(each.may(self._right(words)) for each in callers)
        ]
        return Reply(prompts=(*offered, _HELP))

    def _right(self, words: str) -> Right:
        command, verb = words.split()
        return Right(self._registry.commands[command].verbs[verb].right)
