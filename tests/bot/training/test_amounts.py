"""What a run requests, as people read it."""

import pytest

from bot.training.spec import RunSpec
from bot.training.wording import amounts_of


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (RunSpec(image="lane:1", cpu="1", memory="2Gi"), "no GPU, 1 core and 2Gi memory"),
        (RunSpec(image="lane:1", cpu="8", memory="2Gi"), "no GPU, 8 cores and 2Gi memory"),
        (
            RunSpec(image="lane:1", cpu="1", memory="2Gi", nodes=3),
            "3 nodes, each with no GPU, 1 core and 2Gi memory",
        ),
    ],
)
def test_amounts_are_counted_in_words(spec: RunSpec, words: str) -> None:
    assert amounts_of(spec) == words
