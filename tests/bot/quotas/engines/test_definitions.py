"""What each quota engine brings, and that the settings know all of them."""

from typing import get_args

import pytest

from bot.config import ClusterSettings
from bot.quotas.engines.opening import unwatched_with, watched_with
from bot.quotas.engines.registry import DEFAULT, ENGINES


def test_the_settings_know_every_engine() -> None:
    field = ClusterSettings.model_fields["engine"]
    assert set(get_args(field.annotation)) == set(ENGINES)
    assert field.default == DEFAULT.name


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_watches_what_it_needs(name: str) -> None:
    engine, watched = ENGINES[name], watched_with(name)
    assert engine.priorities in watched
    assert engine.queues is None or engine.queues in (*watched, *engine.polled)
    assert not set(engine.polled) & set(watched)
    assert not set(unwatched_with(name)) & set(watched)


@pytest.mark.parametrize("name", ENGINES)
def test_rights_cover_what_is_watched(name: str) -> None:
    engine = ENGINES[name]
    known = {(resource.group, resource.plural) for resource in engine.watched}
    watched = {(right.group, right.plural) for right in engine.rights if right.verb == "watch"}
    assert watched <= known
