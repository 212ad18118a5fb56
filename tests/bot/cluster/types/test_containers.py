"""Words that a kubelet hands over as they were written, whatever a container's variables are."""

from hypothesis import given
from hypothesis import strategies as st

from bot.cluster.types.containers import unexpanded
from playground.cluster.control.expansion import expand


@given(st.text(alphabet="$()Aa {\\", max_size=12))
def test_what_is_written_arrives(text: str) -> None:
    assert expand(unexpanded(text), {"A": "filled in", "a": "", "": "empty"}) == text


def test_words_without_need_stay_readable() -> None:
    assert unexpanded("$HOME ${X} a$ b$c") == "$HOME ${X} a$ b$c"
