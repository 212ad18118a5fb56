"""keep what GPUs did by the minute."""

import sqlalchemy as sa
from alembic import op

revision = "b7d2f0c94e16"
down_revision = "6d41f8a0c37b"
branch_labels = None
depends_on = None

_MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "gpu_series",
        sa.Column("id", sa.Integer(), nullable=False),
        *(
            sa.Column(name, sa.String(), nullable=False)
            for name in (
                "what", "cluster", "key", "team", "person", "run_id",
                "namespace", "name", "gpu_type", "pool", "datasets",
            )
        ),
        sa.Column("idle_since", _MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gpu_series")),
        sa.UniqueConstraint("key", name=op.f("uq_gpu_series_key")),
    )  # fmt: skip
    op.create_index(op.f("ix_gpu_series_run_id"), "gpu_series", ["run_id"])
    op.create_index(
        "ix_gpu_series_idle",
        "gpu_series",
        ["idle_since"],
        sqlite_where=sa.text("idle_since IS NOT NULL"),
        postgresql_where=sa.text("idle_since IS NOT NULL"),
    )
    op.create_table(
        "gpu_pods",
        *(sa.Column(n, sa.String(), nullable=False) for n in ("uid", "cluster", "namespace", "name")),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("series", "amount", "first")),
        sa.Column("last", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["series"], ["gpu_series.id"], name=op.f("fk_gpu_pods_series_gpu_series")
        ),
        sa.PrimaryKeyConstraint("uid", "cluster", name=op.f("pk_gpu_pods")),
    )
    op.create_index(op.f("ix_gpu_pods_last"), "gpu_pods", ["last"])
    op.create_index(
        "ix_gpu_pods_live",
        "gpu_pods",
        ["cluster"],
        sqlite_where=sa.text("last IS NULL"),
        postgresql_where=sa.text("last IS NULL"),
    )
    op.create_table(
        "gpu_samples",
        sa.Column("cluster", sa.String(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("minute", sa.Integer(), nullable=False),
        sa.Column("entries", sa.LargeBinary(), nullable=False),
        sa.Column("is_measured", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("cluster", "step", "minute", name=op.f("pk_gpu_samples")),
    )
    op.create_table(
        "gpu_hours",
        sa.Column("hour", sa.Integer(), nullable=False),
        sa.Column("series", sa.Integer(), nullable=False),
        *(
            sa.Column(name, sa.BigInteger(), nullable=False)
            for name in (
                "allocated", "measured", "busy", "idle", "memory_used", "memory_total",
            )
        ),
        sa.ForeignKeyConstraint(
            ["series"], ["gpu_series.id"], name=op.f("fk_gpu_hours_series_gpu_series")
        ),
        sa.PrimaryKeyConstraint("hour", "series", name=op.f("pk_gpu_hours")),
        sqlite_with_rowid=False,
    )  # fmt: skip
    op.create_table(
        "gpu_sampling",
        sa.Column("cluster", sa.String(), nullable=False),
        *(
            sa.Column(name, sa.Integer(), nullable=False)
            for name in ("rolled", "measured", "minutes_from", "fives_from")
        ),
        sa.Column("trouble", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("cluster", name=op.f("pk_gpu_sampling")),
    )


def downgrade() -> None:
    for table in ("gpu_sampling", "gpu_hours", "gpu_samples", "gpu_pods", "gpu_series"):
        op.drop_table(table)
