"""What of a message can be copied, under which names, and why the rest cannot."""

from collections.abc import Callable

import pytest

from bot.datasets.drops.tables import DropPhase
from playground.slack.files import File
from playground.slack.people import User
from tests.bot.datasets.drops.dropping import Dropping
from tests.handlers.command_client import TEAM_A

LABELS = ("labels.csv", b"study,label\n1,0\n")
AGAIN = (
    "Drop the files into the channel again, then choose Save files as a dataset in the menu of that"
    " message."
)
OTHERWISE = (
    "Push them from your computer: `/dataset put`, then `quartermaster dataset push FOLDER`."
)
SCOPE = "The bot may not read files: its Slack app lacks the scope `files:read`."
SCOPE_HINT = (
    "Ask a platform admin to save the app's manifest again and to reinstall the app. Until then,"
    " push the files from your computer by `/dataset put`."
)


def test_names_become_keys_of_one_folder(rig: Dropping) -> None:
    names = [
        "a/b.csv",
        "image.png",
        "image.png",
        "image-2.png",
        "Gro\u0308ße.csv",
        "..",
        "\x07x\\y",
    ]
    rig.put(rig.drop(*((name, b"1") for name in names)))
    rig.steps()
    assert [each.key for each in rig.row().found] == [
        "a_b.csv", "image.png", "image-2.png", "image-2-2.png", "Größe.csv", "file__", "_x_y",
    ]  # fmt: skip


def test_long_names_are_cut_before_their_suffix(rig: Dropping) -> None:
    long = f"{'ö' * 240}.csv"
    rig.put(rig.drop((long, b"1"), (long, b"2"), ("ö" * 240, b"3")))
    rig.steps()
    cut = "ö" * 98
    keys = [each.key for each in rig.row().found]
    assert keys == [f"{cut}.csv", f"{cut}-2.csv", "ö" * 100]


def _external(file: File) -> None:
    file.mode = "external"


def _canvas(file: File) -> None:
    file.mode = "quip"


def _deleted(file: File) -> None:
    file.is_deleted = True


def _hidden(file: File) -> None:
    file.access = "check_file_info"


def _without_address(file: File) -> None:
    file.url = ""


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_external, "labels.csv is a link to another service (gdrive), so Slack does not have it."),
        (_canvas, "labels.csv is no file but a quip of Slack."),
        (_deleted, "A file of the message was deleted."),
        (
            _hidden,
            (
                "A file of the message is of another organisation, whose files Slack does not give"
                " the bot."
            ),
        ),
        (
            _without_address,
            "labels.csv is of another organisation, whose files Slack does not give the bot.",
        ),
    ],
)
def test_what_slack_does_not_have_is_named(
    rig: Dropping, change: Callable[[File], None], why: str
) -> None:
    rig.put(rig.drop(LABELS))
    change(rig.messages[0].files[0])
    assert rig.fails() == (why, AGAIN)
    assert rig.row().files == []


def test_snippets_are_copied_like_files(rig: Dropping) -> None:
    rig.put(rig.drop(LABELS))
    rig.messages[0].files[0].mode = "snippet"
    rig.steps()
    assert [each.key for each in rig.row().found] == ["labels.csv"]


def test_files_of_another_company_are_refused(rig: Dropping) -> None:
    people = rig.slack.workspace.users
    people["U0FAR"] = User("U0FAR", "far", "Far Away", team_id="T0PARTNER", is_stranger=True)
    rig.slack.workspace.channels[TEAM_A].members.append("U0FAR")
    rig.put(rig.drop(LABELS, person="U0FAR"))
    assert rig.fails() == ("labels.csv was shared by a person of another organisation.", AGAIN)


def test_files_of_unknown_people_are_refused_at_once(rig: Dropping) -> None:
    rig.put(rig.drop(LABELS))
    rig.messages[0].files[0].uploader = "U0NOBODY"
    assert rig.fails() == ("labels.csv was shared by a person of another organisation.", AGAIN)


def test_more_than_the_limit_is_refused(rig: Dropping) -> None:
    rig.put(rig.drop(("a.bin", bytes(11 << 20)), ("b.bin", bytes(10 << 20))))
    assert rig.fails() == (
        "The message has 2 files of 21 MiB; up to 20 MiB are copied from Slack.", OTHERWISE,
    )  # fmt: skip


def test_too_many_files_are_refused(rig: Dropping) -> None:
    rig.put(rig.drop(*((f"{number}.csv", b"1") for number in range(101))))
    assert rig.fails() == ("The message has 101 files; up to 100 are copied.", OTHERWISE)


def test_a_message_that_is_gone_is_named(rig: Dropping) -> None:
    rig.put(rig.drop(LABELS))
    rig.slack.call(lambda: rig.slack.workspace.delete(rig.messages[0], by="U0ALICE"))
    assert rig.fails() == ("This message is no longer there.", AGAIN)


def test_without_the_scope_nothing_begins(rig: Dropping) -> None:
    link = rig.drop(LABELS)
    rig.slack.workspace.scopes.discard("files:read")
    rig.put(link)
    assert rig.fails() == (SCOPE, SCOPE_HINT)
    assert (rig.row().phase, rig.push().job_uid) == (DropPhase.ENDED, None)


def test_messages_without_a_scope_for_them_say_so(rig: Dropping) -> None:
    link = rig.drop(LABELS)
    rig.slack.workspace.scopes.discard("channels:history")
    rig.put(link)
    assert rig.fails() == (
        "The bot may not read messages here: its Slack app lacks a scope for that.",
        (
            "Drop the files into another channel of your team, or ask a platform admin to run"
            " `quartermaster doctor`."
        ),
    )


def test_a_scope_withdrawn_meanwhile_is_named(rig: Dropping) -> None:
    rig.put(rig.drop(LABELS))
    rig.steps()
    rig.slack.workspace.scopes.discard("files:read")
    assert rig.fails() == (SCOPE, SCOPE_HINT)


def test_channels_without_the_bot_are_named(rig: Dropping) -> None:
    rig.put(rig.drop(LABELS))
    rig.slack.call(lambda: rig.slack.workspace.remove_bot(TEAM_A))
    assert rig.fails() == (
        "Slack answered not_in_channel to conversations.replies.",
        f"Type `/invite @Quartermaster` in <#{TEAM_A}>.",
    )


def test_messages_of_other_channels_are_refused(rig: Dropping) -> None:
    link = rig.drop(LABELS, channel="C0APPROVE")
    assert rig.put(link) == (
        "That message is in #C0APPROVE, not here.\nUse the command in the channel of the message."
    )
