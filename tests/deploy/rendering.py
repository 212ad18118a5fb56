"""Renders the plain manifests in deploy/kubernetes from the chart.

`python -m tests.deploy.rendering` writes them, with the Helm that `make chart` has built.
"""

import copy
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from playground.settings import merged
from tests.deploy.helm_program import CHART, RELEASE, Helm, kept

KUBERNETES = CHART.parents[1] / "kubernetes"
_SOURCE = re.compile(r"^# Source: quartermaster/templates/(?P<template>\S+)\.yaml\n", re.MULTILINE)
# Of what helps only Helm: who changes a ConfigMap by hand restarts the bot by hand.
_OF_HELM = (
    re.compile(r"^ +# The settings that take effect at the next start.*\n", re.MULTILINE),
    re.compile(r"^ +checksum/settings: .*\n", re.MULTILINE),
    re.compile(r"^  annotations: \{helm\.sh/.*\n", re.MULTILINE),
)


@dataclass(frozen=True)
class Plain:
    """One file: the templates in it, and the values besides those in plain.yaml."""

    templates: Sequence[str]
    values: Mapping[str, Any] = field(default_factory=dict)


def _engine(name: str) -> dict[str, Any]:
    return {"config": {"clusters": {"default": {"engine": name}}}}


_CREATION: dict[str, Any] = {"config": {"team_creation": {}}}

# 00-namespace.yaml is written by hand: Helm installs into a namespace that is there. What has a
# folder of its own is not applied with the others.
FILES: Mapping[str, Plain] = {
    "10-access.yaml": Plain(["access"]),
    "team-creation/kueue.yaml": Plain(["team-creation"], _CREATION),
    "team-creation/kai.yaml": Plain(["team-creation"], merged(_CREATION, _engine("kai"))),
    "team-creation/runai.yaml": Plain(["team-creation"], merged(_CREATION, _engine("runai"))),
    "team-creation/none.yaml": Plain(["team-creation"], merged(_CREATION, _engine("none"))),
    "15-kai.yaml": Plain(["kai"], _engine("kai")),
    "15-runai.yaml": Plain(["runai"], _engine("runai")),
    "16-no-engine.yaml": Plain(["no-engine"], _engine("none")),
    "17-datasets.yaml": Plain(
        ["datasets", "trident"],
        {"config": {"datasets": {"namespace": "datasets"}}, "createDatasetsNamespace": True},
    ),
    "18-trident.yaml": Plain(["trident-records"], {"config": {"anf": {"classes": {}}}}),
    "19-confinement.yaml": Plain(["confinement"]),
    "20-teams.yaml": Plain(["teams"]),
    "30-configuration.yaml": Plain(["configuration"]),
    "40-bot.yaml": Plain(["volume", "deployment", "ops"]),
    "45-http.yaml": Plain(["http"], {"config": {"slack": {"transport": "http"}}}),
}


def plain_manifests(helm: Helm) -> Mapping[str, str]:
    """The text of each file that is rendered."""
    base = yaml.safe_load((CHART.parent / "plain.yaml").read_text("utf-8"))
    return {name: _rendered(helm, base, plain) for name, plain in FILES.items()}


def plain_objects(path: Path) -> list[dict[str, Any]]:
    """The objects in such a file."""
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def the(objects: list[dict[str, Any]], kind: str, name: str = RELEASE) -> dict[str, Any]:
    """The one object of a kind with that name."""
    (found,) = [o for o in objects if (o["kind"], o["metadata"]["name"]) == (kind, name)]
    return found


def _rendered(helm: Helm, base: Mapping[str, Any], plain: Plain) -> str:
    text = helm.rendered(merged(copy.deepcopy(dict(base)), plain.values))
    found = [
        _SOURCE.split(each, maxsplit=1) for each in re.split(r"^---\n", text, flags=re.MULTILINE)
    ]
    parts = [
        body.strip() + "\n"
        for wanted in plain.templates
        for _, template, body in (each for each in found if len(each) == 3)
        if template == wanted
    ]
    joined = "---\n".join(parts)
    for pattern in _OF_HELM:
        joined = pattern.sub("", joined)
    return joined


if __name__ == "__main__":
    program = kept()
    if program is None:
        sys.exit("Helm is not here; `make chart` builds it.")
    with tempfile.TemporaryDirectory() as home:
        for name, text in plain_manifests(Helm(program, Path(home))).items():
            (KUBERNETES / name).write_text(text, encoding="utf-8")
