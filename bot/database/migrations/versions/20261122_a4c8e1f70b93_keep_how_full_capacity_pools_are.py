"""keep how full capacity pools are."""

import sqlalchemy as sa
from alembic import op

revision = "a4c8e1f70b93"
down_revision = "5e7a2b90c4d1"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "anf_pools",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("taken_bytes", sa.BigInteger(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_anf_pools")),
    )


def downgrade() -> None:
    op.drop_table("anf_pools")
