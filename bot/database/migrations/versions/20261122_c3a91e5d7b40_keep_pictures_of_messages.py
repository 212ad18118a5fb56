"""keep pictures of messages."""

import sqlalchemy as sa
from alembic import op

import bot.database.columns

revision = "c3a91e5d7b40"
down_revision = "dc726e5adfe3"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "message_files",
        sa.Column("message_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("file_id", sa.String(), nullable=False),
        sa.Column("uploaded_at", bot.database.columns.Moment(), nullable=False),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name=op.f("fk_message_files_message_id_messages")
        ),
        sa.PrimaryKeyConstraint("message_id", "name", name=op.f("pk_message_files")),
    )
    op.add_column(
        "messages", sa.Column("plainness", sa.Integer(), server_default="0", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("messages", "plainness")
    op.drop_table("message_files")
