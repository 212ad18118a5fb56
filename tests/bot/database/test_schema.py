"""The schema's version: brought up to date once, refused when it does not fit."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, TypeDecorator, inspect, text
from sqlmodel import Session, SQLModel, select

import bot.serving.serving  # noqa: F401  # with it every table is declared
from bot.app import version
from bot.database import revisions, schema
from bot.database.connection import engines
from bot.database.database import Database
from bot.database.schema import Installation
from bot.datasets.tables import Version
from bot.errors import DatabaseError
from bot.volumes.provisioning.service import key_of
from bot.volumes.provisioning.tables import PoolRequest
from bot.volumes.resources import PoolPlace
from tests.bot.datasets.caches.rows import add_dataset, add_version

VERSION = version()


def tables(url: str) -> set[str]:
    write, read = engines(url)
    names = set(inspect(read).get_table_names())
    write.dispose()
    read.dispose()
    return names


def execute(url: str, statement: str) -> None:
    write, read = engines(url)
    with write.begin() as connection:
        connection.execute(text(statement))
    write.dispose()
    read.dispose()


def value(url: str, query: str) -> object:
    write, read = engines(url)
    with write.connect() as connection:
        found = connection.execute(text(query)).scalar_one()
    write.dispose()
    read.dispose()
    return found


def downgrade(url: str, revision: str) -> None:
    """Takes back every migration after that one."""
    config = Config()
    config.set_main_option("script_location", str(revisions.FOLDER))
    config.set_main_option("path_separator", "os")
    write, read = engines(url)
    with write.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, revision)
    write.dispose()
    read.dispose()


def differences(engine: Engine) -> list[object]:
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, SQLModel.metadata))


def refusal(url: str, version: str = VERSION) -> str:
    database = Database(url)
    try:
        with pytest.raises(DatabaseError) as caught:
            database.read(lambda session: schema.refuse_misfit(session, version))
    finally:
        database.close()
    return f"{caught.value.message} {caught.value.hint}"


def test_migrations_make_the_tables_of_the_code(database_url: str) -> None:
    schema.upgrade(database_url)
    schema.upgrade(database_url)
    write, read = engines(database_url)
    found = differences(write)
    write.dispose()
    read.dispose()
    assert found == []


def test_columns_of_one_type_share_it() -> None:
    types = [column.type for table in SQLModel.metadata.sorted_tables for column in table.columns]
    assert len({id(each) for each in types}) == len({(type(each), repr(each)) for each in types})


def test_types_of_ours_are_told_nothing() -> None:
    types = {type(column.type) for table in SQLModel.metadata.tables.values() for column in table.c}
    ours = [each for each in types if issubclass(each, TypeDecorator)]
    told = [each.__name__ for each in ours if each.__init__ is not TypeDecorator.__init__]
    assert (len(ours) > 1, told) == (True, [])


def test_migrating_at_once_happens_once(database_url: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(schema.upgrade, [database_url] * 4))
    assert {"runs", "overrides", "messages", "due"} <= tables(database_url)


def test_shares_of_pushes_go_with_them(database_url: str) -> None:
    schema.upgrade(database_url)
    execute(
        database_url,
        "INSERT INTO dataset_shares (id, workspace_id, push_id, cluster, namespace, claim_name,"
        " asked_at, is_wanted, form, phase, since, volume_name, reason, unblock, trouble) VALUES"
        " ('s', 'T0QM', 'p', 'default', 'datasets', 'results', '2026-11-22', true, '', 'asked',"
        " '2026-11-22', '', '', '', '')",
    )
    downgrade(database_url, "e8d20b6f4a17")
    assert "dataset_pushes" not in tables(database_url)
    schema.upgrade(database_url)


def test_earlier_releases_have_each_content_once(database_url: str) -> None:
    schema.upgrade(database_url)
    database = Database(database_url)

    def add(session: Session) -> None:
        dataset = add_dataset(session)
        add_version(session, dataset, "v1", "sha256:1")
        for name, digest in {"same": "sha256:1", "other": "sha256:2"}.items():
            selection = add_version(session, dataset, name, name)
            selection.selected_from, selection.digest = "v1", digest

    database.transaction(add)
    database.close()
    downgrade(database_url, "e4a8d15c9b27")
    schema.upgrade(database_url)
    database = Database(database_url)
    versions = select(Version.name, Version.phase).order_by(Version.name)
    found = database.read(lambda session: dict(session.exec(versions).all()))
    database.close()
    assert found == {"other": "ready", "same": "failed", "v1": "ready"}


def test_pools_are_known_by_their_subscription(database_url: str) -> None:
    schema.upgrade(database_url)
    for each in ("0123", "4567"):
        request_pool(database_url, subscription=each)
    key = "SELECT {} (place_key) FROM anf_pool_requests"
    downgrade(database_url, "b03f6d9c71e8")
    # An earlier release has one live request of a name.
    assert value(database_url, key.format("max")) == "group/ml/fast"
    assert value(database_url, key.format("min")) == "4567/group/ml/fast"
    schema.upgrade(database_url)
    assert value(database_url, key.format("min")) == "0123/group/ml/fast"
    assert value(database_url, key.format("max")) == "4567/group/ml/fast"


def request_pool(url: str, *, subscription: str) -> None:
    """A live request for a pool, of the same names in every subscription."""
    place = PoolPlace(subscription, "Group", "ml", "fast")
    database, moment = Database(url), datetime(2026, 11, 22, tzinfo=UTC)

    def add(session: Session) -> None:
        row = PoolRequest(
            id=subscription, workspace_id="T0QM", verb="create", person="U0CAROL",
            channel="C0TEAMA", subscription=subscription, resource_group=place.group,
            account=place.account, pool=place.pool, place_key=key_of(place), level="Premium",
            qos="Auto", size_bytes=1, asked_at=moment, since=moment,
        )  # fmt: skip
        session.add(row)

    database.transaction(add)
    database.close()


def test_an_empty_database_is_refused_with_the_command(database_url: str) -> None:
    assert refusal(database_url) == (
        "The database schema is older than this server. Run `quartermaster migrate`."
    )


def test_a_newer_schema_tells_which_server_it_needs(database_url: str) -> None:
    schema.upgrade(database_url)
    database = Database(database_url)
    database.transaction(schema.installation)
    execute(database_url, "UPDATE alembic_version SET version_num = 'from_the_future'")
    database.read(lambda session: schema.refuse_misfit(session, VERSION))
    execute(database_url, "UPDATE installation SET oldest_server = '9.2.0'")
    database.close()
    assert refusal(database_url) == (
        f"The database schema needs a server of version 9.2.0 or newer; this is {VERSION}."
        " Install a newer Quartermaster."
    )


def test_an_installation_keeps_its_id(database_url: str) -> None:
    schema.upgrade(database_url)
    database = Database(database_url)
    first = database.transaction(schema.installation)
    assert database.transaction(schema.installation) == first
    assert database.read(lambda s: s.get_one(Installation, 1).installation_id) == first
    database.close()


def test_a_database_that_cannot_be_had_is_said() -> None:
    with pytest.raises(DatabaseError) as caught:
        schema.upgrade("postgresql://nobody@127.0.0.1:9/none")
    assert caught.value.message.startswith("The schema could not be upgraded: ")
    assert caught.value.hint == "Nothing was changed. Check the database and run it again."


def test_revisions_are_read_as_alembic_reads_them() -> None:
    scripts = ScriptDirectory(str(revisions.FOLDER))
    known = revisions.known()
    assert known == {each.revision: each.down_revision for each in scripts.walk_revisions()}
    assert revisions.newest(known) == scripts.get_current_head()


def test_a_newer_schema_is_left_alone(database_url: str) -> None:
    assert schema.upgrade(database_url)
    execute(database_url, "UPDATE alembic_version SET version_num = 'from_the_future'")
    assert not schema.upgrade(database_url)
    database = Database(database_url)
    assert database.read(schema.revision_of) == "from_the_future"
    database.close()
