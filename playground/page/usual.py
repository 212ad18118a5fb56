"""The world that the page begins with: the stories' cluster with all that people may try."""

from dataclasses import replace

from playground.scenarios import anf_levels
from playground.seaweed import program
from playground.settings import Setup


def usual_setup() -> Setup:
    """Two teams, volumes in Azure, Prometheus and, where SeaweedFS is installed, a bucket."""
    return replace(anf_levels.SETUP, prometheus=True, bucket=program() is not None)
