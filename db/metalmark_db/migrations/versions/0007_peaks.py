"""Published peaks of tf32 and bf16, and where the peaks below fp32 come from."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the columns; their figures come with the next edition of the published data."""
    with op.batch_alter_table("chips", schema=None) as batch_op:
        for name, meaning in (("tf32_tflops", "TF32"), ("bf16_tflops", "bf16")):
            comment = f"Published {meaning} peak, without sparsity (TFLOP/s)"
            batch_op.add_column(sa.Column(name, sa.Double(), nullable=True, comment=comment))
        batch_op.add_column(
            sa.Column(
                "low_precision_source",
                sa.Text(),
                nullable=True,
                comment="Where the peaks of tf32, fp16 and bf16 come from",
            )
        )
