"""The world that the page begins with: the stories' cluster with all that people may try."""

from dataclasses import replace

from playground.scenarios import anf_levels
from playground.seaweed import program
from playground.settings import Setup


def usual_setup(manifest: tuple[str, ...] = ()) -> Setup:
    """Two teams, volumes in Azure, Prometheus and, where SeaweedFS is installed, a bucket.

    `manifest` are options of `quartermaster manifest`, by which the Slack app is made.
    """
    bucket = program() is not None
    return replace(anf_levels.SETUP, prometheus=True, bucket=bucket, manifest=manifest)
