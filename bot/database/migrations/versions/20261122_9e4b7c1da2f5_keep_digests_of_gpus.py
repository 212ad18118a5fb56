"""keep digests of gpus."""

import sqlalchemy as sa
from alembic import op

import bot.database.columns

revision = "9e4b7c1da2f5"
down_revision = "ec7a388b852f"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "digest_choices",
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("is_on", sa.Boolean(), nullable=False),
        sa.Column("at", sa.String(), nullable=False),
        sa.Column("time_zone", sa.String(), nullable=False),
        sa.Column("daily", sa.Boolean(), nullable=False),
        sa.Column("weekly", sa.String(), nullable=True),
        sa.Column("sections", sa.JSON(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("chosen_at", bot.database.columns.Moment(), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "channel", name=op.f("pk_digest_choices")),
    )
    op.create_table(
        "digests",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("workspace_id", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("period", sa.String(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("number", sa.String(), nullable=False),
        sa.Column("team", sa.String(), nullable=True),
        sa.Column("begun", bot.database.columns.Moment(), nullable=False),
        sa.Column("ended", bot.database.columns.Moment(), nullable=False),
        sa.Column("time_zone", sa.String(), nullable=False),
        sa.Column("sections", sa.JSON(), nullable=False),
        sa.Column("asked_at", bot.database.columns.Moment(), nullable=False),
        sa.Column("is_skipped", sa.Boolean(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.Column("figures", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_digests")),
        sa.UniqueConstraint(
            "workspace_id", "channel", "period", "day", "number",
            name=op.f("uq_digests_workspace_id_channel_period_day_number"),
        ),
    )


def downgrade() -> None:
    op.drop_table("digests")
    op.drop_table("digest_choices")
