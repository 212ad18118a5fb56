"""Fixtures that any test may ask for."""

from hypothesis import HealthCheck, settings

from tests.databases import database, database_url
from tests.object_stores import lake
from tests.postgres import postgres_server, postgres_url

__all__ = ["database", "database_url", "lake", "postgres_server", "postgres_url"]

# That a machine is busy is no failure.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
