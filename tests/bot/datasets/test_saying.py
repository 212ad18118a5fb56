"""What of a worker's words reaches people."""

import json

from bot.datasets.saying import last_said


def test_a_file_name_notifies_nobody() -> None:
    told = {"event": "failed", "message": "<@U0CAROL> <!here> cannot be read.", "hint": "<#C1>"}
    said = last_said([json.dumps(told)])
    assert said is not None
    assert (said.message, said.hint) == ("< @U0CAROL> < !here> cannot be read.", "< #C1>")
