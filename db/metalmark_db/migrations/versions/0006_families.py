"""Families and variants of workloads, what a model is trained with, and the work signature of a case."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

# The workloads that were measured before they said so themselves: id -> (family, variant).
_KNOWN = {
    "lenet5-train-b128": ("lenet5-train", "batch 128"),
    "resnet18-infer-b32": ("resnet18-infer", "batch 32"),
    "resnet50-train-b8": ("resnet50-train", "batch 8"),
    "resnet50-infer-b8": ("resnet50-infer", "batch 8"),
    "vgg16-train-b4": ("vgg16-train", "batch 4"),
    "vgg16-infer-b4": ("vgg16-infer", "batch 4"),
    "bert-base-train-t128-b4": ("bert-base-train", "128 tokens, batch 4"),
    "bert-base-infer-t128-b4": ("bert-base-infer", "128 tokens, batch 4"),
    "matmul-2048": ("matmul", "2048 x 2048"),
    "copy-bandwidth": ("copy-bandwidth", None),
}


def upgrade() -> None:
    """Add the columns; what else is to be known of an old workload comes with the next run that measures it."""
    _add("workloads", _facts())
    _add("cases", _signature())
    table = sa.table("workloads", *map(sa.column, ("id", "family", "variant")))
    for name, (family, variant) in _KNOWN.items():
        op.execute(table.update().where(table.c.id == name).values(family=family, variant=variant))


def _add(table: str, columns: list[sa.Column[Any]]) -> None:
    with op.batch_alter_table(table, schema=None) as batch_op:
        for column in columns:
            batch_op.add_column(column)


def _column(name: str, kind: Any, comment: str) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=True, comment=comment)


def _facts() -> list[sa.Column[Any]]:
    return [
        _column("family", sa.Text(), "What variants share, such as resnet50-train: one page"),
        _column("variant", sa.Text(), "What tells it from the rest of its family: batch 8"),
        _column("model", sa.Text(), "Library and model, such as torchvision resnet50"),
        _column("loss", sa.Text(), "Loss of a training"),
        _column("optimizer", sa.Text(), "Optimizer of a training, with its settings"),
    ]


def _signature() -> list[sa.Column[Any]]:
    return [
        _column("signature_parameters", _INTEGER, "Trainable parameters of the model; 0 for an operation"),
        _column("signature_forward_flops", _INTEGER, "What torch's counter makes of it (FLOP)"),
        _column("signature_calls", _INTEGER, "Calls of ATen operations"),
        _column("signature_digest", sa.Text(), "Digest of how often each ATen operation is called"),
    ]
