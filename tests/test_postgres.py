"""The tests' own PostgreSQL server."""

import psycopg
import pytest

from tests.postgres import PostgresServer

pytestmark = pytest.mark.postgres


def test_hands_out_an_empty_database_each_time(postgres_server: PostgresServer) -> None:
    first, second = postgres_server.fresh(), postgres_server.fresh()
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE marks (id int)")
    with psycopg.connect(second) as connection:
        tables = connection.execute("SELECT 1 FROM pg_tables WHERE tablename = 'marks'").fetchall()
    assert first != second
    assert tables == []
