"""What the bot asked for in all tests before, compared with what deploy/ lets it do.

These tests run last (conftest.py).
"""

from pathlib import Path

import pytest

from tests.cluster.control_plane import Audited, ControlPlane
from tests.cluster.rights import DEPLOYED, deployed

Right = tuple[str, str, str]  # group, resource, verb


def granted() -> set[Right]:
    """All that the roles of deploy/ say."""
    paths = [*DEPLOYED.glob("1*.yaml"), *DEPLOYED.glob("team-creation/*.yaml")]
    names = [str(path.relative_to(DEPLOYED)) for path in paths]
    bodies = [body for name in names for body in deployed(name)]
    return {
        (group, resource, verb)
        for body in bodies
        for rule in body.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def asked(plane: ControlPlane) -> list[Audited]:
    """What bots asked for; not what a test asked in a bot's name."""
    return [each for each in plane.audited() if not each.agent.startswith("python-httpx")]


def spelled(rights: set[Right]) -> list[str]:
    return [f"{verb} {resource}.{group}".rstrip(".") for group, resource, verb in sorted(rights)]


def allowed(plane: ControlPlane) -> set[Right]:
    return {right(each) for each in asked(plane) if each.status < 300}


def right(each: Audited) -> Right:
    return each.group, each.resource, each.verb


def test_the_bot_never_lacks_a_right(plane: ControlPlane) -> None:
    refused = [each for each in asked(plane) if each.status == 403 and not each.is_allowed]
    missing = {right(each) for each in refused if not plane.was_refused_in_starting(each)}
    assert spelled(missing) == []


def test_every_right_is_used(plane: ControlPlane, request: pytest.FixtureRequest) -> None:
    every = set(Path(__file__).parent.glob("test_*.py"))
    if request.session.testsfailed or not every <= {item.path for item in request.session.items}:
        pytest.skip("only all tests of this folder together use every right")
    # The API server looks for it when a role is bound; it is no request of its own.
    binds = {("rbac.authorization.k8s.io", "clusterroles", "bind")}
    assert spelled(granted() - allowed(plane) - binds) == []
