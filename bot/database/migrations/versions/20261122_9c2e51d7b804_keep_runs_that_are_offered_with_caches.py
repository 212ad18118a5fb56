"""keep runs that are offered with their caches."""

import sqlalchemy as sa
from alembic import op

revision = "9c2e51d7b804"
down_revision = "3b7f0c9d5e12"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "run_offers",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("cluster", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.Column("plans", sa.JSON(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_offers")),
    )
    op.create_index(op.f("ix_run_offers_asked_at"), "run_offers", ["asked_at"])


def downgrade() -> None:
    op.drop_index(op.f("ix_run_offers_asked_at"), "run_offers")
    op.drop_table("run_offers")
