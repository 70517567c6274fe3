"""More of the conditions, for each case too; what torch was built with; the reporter."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns; runs measured before keep null, which says that nobody looked."""
    _add("software", _software())
    _add("conditions", _conditions())
    _add("cases", _moment())
    _add(
        "runs",
        [_column("reporter", sa.Text(), "Tells one computer from another of the same configuration, not which")],
    )


def _add(table: str, columns: list[sa.Column[Any]]) -> None:
    with op.batch_alter_table(table, schema=None) as batch_op:
        for column in columns:
            batch_op.add_column(column)


def _column(name: str, kind: Any, comment: str) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=True, comment=comment)


def _software() -> list[sa.Column[Any]]:
    return [
        _column("torch_build", sa.JSON(), "Build settings of torch by name, such as BLAS_INFO, by allow-list"),
        _column("threads", _INTEGER, "Threads that torch computes with on the CPU"),
        _column("gpu_driver", sa.Text(), "Version of the NVIDIA driver"),
    ]


def _conditions() -> list[sa.Column[Any]]:
    return [
        _column("qos", sa.Text(), "Priority class of macOS that the run was started in"),
        _column("displays", _INTEGER, "Displays that are connected"),
        _column("gpu_users", _INTEGER, "Other programs that compute on the GPUs (NVIDIA)"),
        _column("gpu_memory_used_bytes", _INTEGER, "Memory that all programs have on the GPUs (bytes)"),
        _column("gpu_utilization_percent", _INTEGER, "Share of time that the first GPU is busy (percent)"),
    ]


def _moment() -> list[sa.Column[Any]]:
    return [
        _column("conditions_power_source", sa.Text(), "ac or battery"),
        _column("conditions_low_power_mode", sa.Boolean(), "Whether low power mode is on"),
        _column("conditions_thermal_state", sa.Text(), "Thermal state as the system names it"),
        _column("conditions_cpu_speed_limit", _INTEGER, "CPU speed limit of pmset (Intel Macs) (percent)"),
        _column("conditions_swap_used_bytes", _INTEGER, "Swap in use (bytes)"),
        _column("conditions_memory_available_bytes", _INTEGER, "Memory available without swapping (bytes)"),
        _column("conditions_load_1m", sa.Double(), "Load average of the last minute"),
    ]
