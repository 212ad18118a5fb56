"""What Slack accepts inside a block: texts, confirm dialogs, and interactive elements."""

from playground.slack.shapes import (
    Rule,
    all_of,
    any_field,
    by_type,
    choice,
    flag,
    items,
    number,
    shape,
    string,
)

ID = string(255)
URL = string(3000)


def plain(maximum: int) -> Rule:
    """A plain_text object of at most `maximum` characters."""
    return by_type({"plain_text": shape({"text": string(maximum)}, {"emoji": flag})})


def text(maximum: int) -> Rule:
    """A plain_text or mrkdwn object of at most `maximum` characters."""
    return by_type(
        {
            "plain_text": shape({"text": string(maximum)}, {"emoji": flag}),
            "mrkdwn": shape({"text": string(maximum)}, {"verbatim": flag}),
        }
    )


CONFIRM = shape(
    {"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)},
    {"style": choice("primary", "danger")},
)
OPTION = shape({"text": text(75), "value": string(150)}, {"description": text(75), "url": URL})
OPTIONS = items(OPTION, 1, 100)
GROUPS = items(shape({"label": plain(75), "options": OPTIONS}), 1, 100)
SLACK_FILE = all_of(shape({}, {"id": ID, "url": URL}), any_field("id", "url"))
IMAGE_SOURCE: dict[str, Rule] = {"image_url": URL, "slack_file": SLACK_FILE}

_ACTION: dict[str, Rule] = {"action_id": ID, "confirm": CONFIRM, "focus_on_load": flag}
_ASKING: dict[str, Rule] = {**_ACTION, "placeholder": plain(150)}
_MANY: dict[str, Rule] = {**_ASKING, "max_selected_items": number(1, whole=True)}
_TYPED: dict[str, Rule] = {
    "action_id": ID,
    "placeholder": plain(150),
    "focus_on_load": flag,
    "dispatch_action_config": shape(
        {"trigger_actions_on": items(choice("on_enter_pressed", "on_character_entered"), 1, 2)}
    ),
}


def _pick(one: str, many: str, initial: Rule) -> dict[str, Rule]:
    """The single and the multiple form of one menu of people or conversations."""
    return {
        one: shape({}, {**_ASKING, f"initial_{one.removesuffix('s_select')}": initial}),
        many: shape(
            {},
            {**_MANY, f"initial_{one.removesuffix('_select')}": items(initial, 1, 100)},
        ),
    }


BUTTON = shape(
    {"text": plain(75)},
    {
        **_ACTION,
        "value": string(2000, 0),
        "url": URL,
        "style": choice("primary", "danger"),
        "accessibility_label": string(75),
    },
)
STATIC_SELECT = all_of(
    shape({}, {**_ASKING, "options": OPTIONS, "option_groups": GROUPS, "initial_option": OPTION}),
    any_field("options", "option_groups"),
)
MULTI_STATIC_SELECT = all_of(
    shape(
        {},
        {**_MANY, "options": OPTIONS, "option_groups": GROUPS, "initial_options": OPTIONS},
    ),
    any_field("options", "option_groups"),
)
_SEARCHED: dict[str, Rule] = {"min_query_length": number(0, whole=True)}
EXTERNAL_SELECT = shape({}, {**_ASKING, **_SEARCHED, "initial_option": OPTION})
MULTI_EXTERNAL_SELECT = shape({}, {**_MANY, **_SEARCHED, "initial_options": OPTIONS})
PLAIN_TEXT_INPUT = shape(
    {},
    {
        **_TYPED,
        "initial_value": string(3000, 0),
        "multiline": flag,
        "min_length": number(0, 3000, whole=True),
        "max_length": number(1, 3000, whole=True),
    },
)
NUMBER_INPUT = shape(
    {"is_decimal_allowed": flag},
    {
        **_TYPED,
        "initial_value": string(100),
        "min_value": string(100),
        "max_value": string(100),
    },
)
IMAGE = all_of(
    shape({"alt_text": string(2000)}, IMAGE_SOURCE), any_field("image_url", "slack_file")
)

INTERACTIVE: dict[str, Rule] = {
    "button": BUTTON,
    "static_select": STATIC_SELECT,
    "multi_static_select": MULTI_STATIC_SELECT,
    "external_select": EXTERNAL_SELECT,
    "multi_external_select": MULTI_EXTERNAL_SELECT,
    **_pick("users_select", "multi_users_select", ID),
    **_pick("channels_select", "multi_channels_select", ID),
    **_pick("conversations_select", "multi_conversations_select", ID),
    "overflow": shape({"options": items(OPTION, 1, 5)}, {"action_id": ID, "confirm": CONFIRM}),
    "datepicker": shape({}, {**_ASKING, "initial_date": string(10, 10)}),
    "timepicker": shape({}, {**_ASKING, "initial_time": string(5, 5), "timezone": string(100)}),
    "datetimepicker": shape({}, {**_ACTION, "initial_date_time": number(0, whole=True)}),
    "checkboxes": shape(
        {"options": items(OPTION, 1, 10)}, {**_ACTION, "initial_options": items(OPTION, 1, 10)}
    ),
    "radio_buttons": shape(
        {"options": items(OPTION, 1, 10)}, {**_ACTION, "initial_option": OPTION}
    ),
}
ACTIONS_ELEMENT = by_type(INTERACTIVE)
ACCESSORY = by_type({**INTERACTIVE, "image": IMAGE})
CONTEXT_ELEMENT = by_type(
    {
        "image": IMAGE,
        "plain_text": shape({"text": string(3000)}, {"emoji": flag}),
        "mrkdwn": shape({"text": string(3000)}, {"verbatim": flag}),
    }
)
INPUT_ELEMENT = by_type(
    {
        **{kind: rule for kind, rule in INTERACTIVE.items() if kind not in ("button", "overflow")},
        "plain_text_input": PLAIN_TEXT_INPUT,
        "number_input": NUMBER_INPUT,
        "email_text_input": shape({}, {**_TYPED, "initial_value": string(3000, 0)}),
        "url_text_input": shape({}, {**_TYPED, "initial_value": string(3000, 0)}),
    }
)
