"""The stories that can be played, one module each."""

import importlib
import pkgutil

from playground.settings import Setup
from playground.spelling import closest
from playground.story.scenario import Scenario


def named(name: str) -> Scenario:
    """The scenario of that name (first-run); LookupError suggests another."""
    known = _names()
    wanted = name.replace("_", "-").removesuffix(".py")
    if wanted not in known:
        raise LookupError(f"there is no scenario {name}{closest(wanted, known)}")
    module = importlib.import_module(f"{__name__}.{wanted.replace('-', '_')}")
    summary = (module.__doc__ or "").strip().splitlines()[0]
    return Scenario(wanted, summary, getattr(module, "SETUP", Setup()), module.play)


def summaries() -> dict[str, str]:
    """All scenarios with what they are about."""
    return {name: named(name).summary for name in _names()}


def _names() -> list[str]:
    return [module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__)]
