"""Uploads in three steps, as strict as Slack."""

from http import HTTPStatus
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from slack_sdk.errors import SlackApiError

from playground.slack.page import page
from tests.playground.slack.served import Served
from tests.playground.slack.test_web_api import ALICE, TEAM_A, refused

CSV = b"team,gpu_hours\nteam-a,<b>1.000</b>\n"
GET, COMPLETE = "files.getUploadURLExternal", "files.completeUploadExternal"


def brought(slack: Served, content: bytes = CSV) -> str:
    """The id of a file whose bytes are there."""
    given = slack.bot.api_call(GET, params={"filename": "report.csv", "length": len(content)})
    assert send(given["upload_url"], content) == HTTPStatus.OK
    return str(given["file_id"])


def send(url: str, content: bytes) -> int:
    try:
        with urlopen(Request(url, data=content, method="POST"), timeout=10) as answer:
            status: int = answer.status
            return status
    except HTTPError as error:
        return error.code


def error_of(slack: Served, method: str, **arguments: object) -> str:
    answer: SlackApiError = refused(slack, method, **arguments)
    return str(answer.response["error"])


def test_shared_file_is_shown_with_its_content(slack: Served) -> None:
    file_id = brought(slack)
    files = [{"id": file_id, "title": "GPUs"}]
    answer = slack.bot.api_call(
        COMPLETE, json={"files": files, "channel_id": TEAM_A, "initial_comment": "Here it is."}
    )
    assert answer["files"] == files
    assert slack.texts(ALICE, TEAM_A) == ["Here it is.\n[file: report.csv, 35 bytes]"]
    [message] = slack.bot.conversations_history(channel=TEAM_A)["messages"]
    assert (message["text"], message["subtype"]) == ("Here it is.", "file_share")
    assert message["files"] == [
        {
            "id": file_id,
            "name": "report.csv",
            "title": "GPUs",
            "mimetype": "text/csv",
            "filetype": "csv",
            "size": 35,
            "mode": "hosted",
        }
    ]
    shown = slack.call(lambda: page(slack.workspace, "x"))
    assert "<pre>team,gpu_hours\nteam-a,&lt;b&gt;1.000&lt;/b&gt;\n</pre>" in shown
    assert 'download="report.csv"' in shown


def test_form_takes_files_as_json_text(slack: Served) -> None:
    file_id = brought(slack)
    slack.bot.api_call(COMPLETE, data={"files": f'[{{"id":"{file_id}"}}]', "channel_id": TEAM_A})
    assert slack.texts(ALICE, TEAM_A) == ["[file: report.csv, 35 bytes]"]


def test_file_is_completed_only_once(slack: Served) -> None:
    files = [{"id": brought(slack)}]
    slack.bot.api_call(COMPLETE, json={"files": files, "channel_id": TEAM_A})
    assert error_of(slack, COMPLETE, files=files, channel_id=TEAM_A) == "file_not_found"
    assert len(slack.texts(ALICE, TEAM_A)) == 1


def test_address_takes_one_file_of_its_length(slack: Served) -> None:
    given = slack.bot.api_call(GET, params={"filename": "a.csv", "length": len(CSV)})
    url = given["upload_url"]
    assert send(url, CSV + b"more") == HTTPStatus.NOT_FOUND
    assert error_of(slack, COMPLETE, files=[{"id": given["file_id"]}]) == "file_not_found"
    assert [send(url, CSV), send(url, CSV)] == [HTTPStatus.OK, HTTPStatus.NOT_FOUND]
    assert send(url.rpartition("/")[0] + "/", b"") == HTTPStatus.NOT_FOUND


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"filename": "a.csv"}, "missing_argument"),
        ({"filename": "a.csv", "length": 0}, "missing_argument"),
        ({"length": 9}, "missing_argument"),
        ({"filename": "a.csv", "length": "long"}, "invalid_arguments"),
        ({"filename": "a.csv", "length": 2_000_000_000}, "file_upload_size_restricted"),
    ],
)
def test_addresses_need_a_name_and_length(
    slack: Served, arguments: dict[str, object], error: str
) -> None:
    assert error_of(slack, GET, **arguments) == error


@pytest.mark.parametrize(
    ("channel", "error"),
    [("C0NONE", "channel_not_found"), (ALICE, "invalid_arguments"), ("C0TEAMB", "not_in_channel")],
)
def test_place_of_a_file_is_looked_at(slack: Served, channel: str, error: str) -> None:
    slack.call(lambda: slack.workspace.remove_bot("C0TEAMB"))
    files = [{"id": brought(slack)}]
    assert error_of(slack, COMPLETE, files=files, channel_id=channel) == error
    slack.bot.api_call(COMPLETE, json={"files": files, "channel_id": TEAM_A})


@pytest.mark.parametrize(
    ("files", "error"),
    [
        (None, "invalid_arguments"),
        ([], "invalid_arguments"),
        ([{"title": "x"}], "invalid_arguments"),
        (["F00001"], "invalid_arguments"),
        ([{"id": "F0NONE"}], "file_not_found"),
    ],
)
def test_what_is_completed_must_be_files(slack: Served, files: object, error: str) -> None:
    assert error_of(slack, COMPLETE, files=files, channel_id=TEAM_A) == error


def test_files_need_their_scope(slack: Served) -> None:
    file_id = brought(slack)
    slack.workspace.scopes.discard("files:write")
    assert error_of(slack, GET, filename="a.csv", length=9) == "missing_scope"
    assert error_of(slack, COMPLETE, files=[{"id": file_id}]) == "missing_scope"
