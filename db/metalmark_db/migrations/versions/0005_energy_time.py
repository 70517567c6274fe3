"""The time in which the energy of a minute of work was taken, which is longer than that of its blocks."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column; runs measured before keep null: their energy is known, their power is not."""
    with op.batch_alter_table("cases", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column(
                "sustained_energy_s",
                sa.Double(),
                nullable=True,
                comment="Time in which it was taken, the pauses between the blocks included (s)",
            )
        )
