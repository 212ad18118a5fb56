"""assistant.threads.*: what the agent view suggests."""

from playground.slack.arguments import Arguments
from playground.slack.errors import SlackError
from playground.slack.installed import MOST_PROMPTS, is_prompt
from playground.slack.methods import Method
from playground.slack.rates import TIER_4
from playground.slack.shapes import Json
from playground.slack.state import State
from playground.slack.transcript import Kind


def set_prompts(state: State, args: Arguments) -> Json:
    """assistant.threads.setSuggestedPrompts, of an app with the agent view.

    With `thread_ts`, which is for apps with the older assistant view, Slack does nothing.
    """
    if not state.app.has_agent_view:
        raise SlackError("not_agent_app")
    channel = state.channels.get(args.need("channel_id"))
    if channel is None or not channel.im_with:
        raise SlackError("channel_not_found")
    prompts = args.json("prompts", "invalid_arguments")
    if not isinstance(prompts, list) or not 0 < len(prompts) <= MOST_PROMPTS:
        raise _invalid(f"must have 1 to {MOST_PROMPTS} entries")
    if not all(map(is_prompt, prompts)):
        raise _invalid("must each have a title and a message")
    if args.text("thread_ts") is None:
        state.prompts[channel.id] = tuple(prompts)
        titles = ", ".join(each["title"] for each in prompts)
        state.note(Kind.VIEW, channel.im_with, f"sees the prompts {titles}")
    return {}


def _invalid(said: str) -> SlackError:
    messages = [f"[ERROR] {said} [json-pointer:/prompts]"]
    return SlackError("invalid_arguments", response_metadata={"messages": messages})


METHODS = {
    "assistant.threads.setSuggestedPrompts": Method(
        set_prompts, TIER_4, effect=True, scope="assistant:write"
    ),
}
