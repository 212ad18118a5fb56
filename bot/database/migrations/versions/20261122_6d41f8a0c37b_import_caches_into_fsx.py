"""import caches into fsx."""

import sqlalchemy as sa
from alembic import op

import bot.database.columns

revision = "6d41f8a0c37b"
down_revision = "e2d1d2a2d1c6"
branch_labels = None
depends_on = None


def upgrade() -> None:
    moment = bot.database.columns.Moment()
    op.create_table(
        "dataset_imports",
        sa.Column("cache_id", sa.String(), nullable=False),
        sa.Column("file_system", sa.String(), nullable=False),
        sa.Column("repository", sa.String(), nullable=False),
        sa.Column("root", sa.String(), nullable=False),
        sa.Column("objects", sa.String(), nullable=False),
        sa.Column("folder", sa.String(), nullable=False),
        sa.Column("association_id", sa.String(), nullable=False),
        sa.Column("dns_name", sa.String(), nullable=False),
        sa.Column("mount_name", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("begun_at", moment, nullable=True),
        sa.Column("imported_at", moment, nullable=True),
        sa.Column("release_id", sa.String(), nullable=False),
        sa.Column("release_begun_at", moment, nullable=True),
        sa.Column("released_at", moment, nullable=True),
        sa.Column("kept", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["cache_id"],
            ["dataset_caches.id"],
            name=op.f("fk_dataset_imports_cache_id"),
        ),
        sa.PrimaryKeyConstraint("cache_id", name=op.f("pk_dataset_imports")),
    )
    with op.batch_alter_table("dataset_imports", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_dataset_imports_file_system"), ["file_system"], unique=False
        )


def downgrade() -> None:
    with op.batch_alter_table("dataset_imports", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_dataset_imports_file_system"))
    op.drop_table("dataset_imports")
