"""Spellings of chips, the mapping of published workloads, digests of documents, and what is said of many runs."""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_INTEGER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_GRADES = "grade IN ('same', 'near', 'other')"
_MOST = 2000  # values of a series whose ranks are listed


def upgrade() -> None:
    """Create the tables, add the columns, and tell of the machines and software that are there what can be told."""
    _add("machines", [_text("bin", "Which of the chip's bins this is, told by its cores")])
    _add(
        "software",
        [
            _text("torch_minor", "Release of torch without its last part, such as 2.14"),
            _text("os_major", "System with the release of macOS: macOS 26, or Linux"),
        ],
    )
    _add_runs()
    _add_published()
    op.drop_index(op.f("ix_cases_workload_device_precision_mode"), table_name="cases")
    op.create_index(op.f("ix_cases_workload_device_chip"), "cases", ["workload", "device_chip"])
    _create_names()
    _create_ranks()
    _create_aggregate("summary", [])
    op.create_index(op.f("ix_summary_chip_bin"), "summary", ["chip", "bin"])
    op.create_index("ix_summary_case", "summary", ["chip", "workload", "device", "precision", "mode", "torch"])
    _create_aggregate("cells", _cell_keys())
    op.create_index(op.f("ix_cells_chip_workload"), "cells", ["chip", "workload"])
    _tell_of_machines()
    _tell_of_software()
    for table in ("machines", "software"):
        _digest_anew(table)


def _add(table: str, columns: list[sa.Column[Any]]) -> None:
    for column in columns:
        op.add_column(table, column)


def _text(name: str, comment: str | None = None, *, nullable: bool = True) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), nullable=nullable, comment=comment)


def _add_runs() -> None:
    _add(
        "runs",
        [
            _text("digest", "Digest of the run's document; null until a sitting ended"),
            _text("handle", "Whom to credit, where the document names somebody"),
        ],
    )
    op.create_index("uq_runs_digest", "runs", ["digest"], unique=True)
    op.create_table(
        "touched",
        sa.Column("id", _INTEGER, nullable=False),
        sa.Column("run_id", _INTEGER, nullable=False, comment="Row in runs"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_touched_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_touched")),
    )


def _add_published() -> None:
    """The table is made anew: its rows come from files, which are loaded whenever they have changed."""
    op.execute("DELETE FROM published")
    op.execute("DELETE FROM loaded WHERE name = 'published'")
    with op.batch_alter_table("published", schema=None) as table:
        table.add_column(
            sa.Column(
                "under_s",
                sa.Double(),
                nullable=True,
                comment="Where a time was printed as zero: what it lies under, for one iteration (s)",
            )
        )
        table.add_column(_text("ours", "Our workload that it can be held beside"))
        table.add_column(sa.Column("ours_version", sa.Integer(), nullable=True, comment="Version of our workload"))
        table.add_column(_text("ours_mode", "Mode of our cases: eager or compile"))
        table.add_column(_text("grade", "How alike they are: same, near or other"))
        table.create_check_constraint(op.f("ck_published_grade"), _GRADES)
    op.create_index(op.f("ix_published_ours"), "published", ["ours"])


def _create_names() -> None:
    op.create_table(
        "aliases",
        _text("spelling", "A name as a system or a source writes it", nullable=False),
        _text("chip", "The name that its rows are charted under", nullable=False),
        _text("bin", "The variant in chips, where the spelling tells it"),
        _text("family", "Family of chips: Apple M1, NVIDIA, Intel ...", nullable=False),
        _text("why", "Why they are the same chip"),
        sa.PrimaryKeyConstraint("spelling", name=op.f("pk_aliases")),
    )
    op.create_table(
        "mapping",
        sa.Column("id", _INTEGER, nullable=False),
        _text("source_id", "Row in sources", nullable=False),
        _text("published", "Workload as the table published names it", nullable=False),
        _text("task", nullable=False),
        _text("input_shape", "Null stands for any shape"),
        sa.Column("batch_size", sa.Integer(), nullable=True, comment="Null stands for any batch"),
        _text("precision", "Null stands for any precision"),
        _text("device", "Null stands for any device"),
        _text("workload", "Our workload; null where there is no counterpart"),
        sa.Column("version", sa.Integer(), nullable=True),
        _text("mode"),
        _text("grade", "same: comparable; near: with a difference; other: no counterpart", nullable=False),
        _text("why", nullable=False),
        sa.CheckConstraint(_GRADES, name=op.f("ck_mapping_grade")),
        sa.ForeignKeyConstraint(["source_id"], ["sources.id"], name=op.f("fk_mapping_source_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mapping")),
    )


def _create_ranks() -> None:
    table = op.create_table(
        "ranks",
        sa.Column("count", sa.Integer(), autoincrement=False, nullable=False, comment="Values in the series"),
        sa.Column("low", sa.Integer(), nullable=False, comment="Number of the lower end"),
        sa.Column("high", sa.Integer(), nullable=False, comment="Number of the upper end"),
        sa.PrimaryKeyConstraint("count", name=op.f("pk_ranks")),
    )
    op.bulk_insert(table, list(_ranks()))


def _ranks() -> Iterator[dict[str, int]]:
    """The narrowest symmetric order-statistic intervals that hold the median with at least 95 %.

    [x(k), x(n + 1 - k)] misses it with the probability 2 P(Binomial(n, 1/2) < k). With T(n, k) subsets of fewer
    than k of n things, T(n + 1, k) = 2 T(n, k) - C(n, k - 1): one step a row, in whole numbers.
    """
    below, k, here = 1, 1, 1  # T(n, k), k and C(n, k) for n = 1
    for n in range(1, _MOST + 1):
        while (below + here) * 40 <= 2**n:
            below += here
            here = here * (n - k) // (k + 1)
            k += 1
        if below * 40 <= 2**n:
            yield {"count": n, "low": k, "high": n + 1 - k}
        below = 2 * below - here * k // (n - k + 1)
        here = here * (n + 1) // (n + 1 - k)


def _create_aggregate(table: str, more: list[sa.Column[Any]]) -> None:
    op.create_table(
        table,
        sa.Column("id", _INTEGER, nullable=False),
        *_values(),
        *_keys(),
        *more,
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    )
    op.create_index(op.f(f"ix_{table}_workload_device_precision"), table, ["workload", "device", "precision"])


def _values() -> list[sa.Column[Any]]:
    return [
        sa.Column("machines", _INTEGER, nullable=False),
        sa.Column("runs", _INTEGER, nullable=False),
        sa.Column("median_s", sa.Double(), nullable=True),
        sa.Column("low_s", sa.Double(), nullable=True),
        sa.Column("high_s", sa.Double(), nullable=True),
        _text("interval"),
        sa.Column("speedup", sa.Double(), nullable=True),
        _text("newest", nullable=False),
    ]


def _keys() -> list[sa.Column[Any]]:
    return [
        _text("chip", nullable=False),
        _text("chip_family", nullable=False),
        _text("bin"),
        sa.Column("virtual", sa.Boolean(), nullable=True),
        _text("workload", nullable=False),
        sa.Column("version", _INTEGER, nullable=False),
        _text("device", nullable=False),
        _text("precision", nullable=False),
        _text("mode", nullable=False),
        _text("torch"),
        _text("os"),
    ]


def _cell_keys() -> list[sa.Column[Any]]:
    return [
        _text("configuration", nullable=False),
        sa.Column("cpu_cores", _INTEGER, nullable=True),
        sa.Column("gpu_cores", _INTEGER, nullable=True),
        sa.Column("memory_bytes", _INTEGER, nullable=True),
        _text("power"),
        _text("outcome", nullable=False),
        sa.Column("fallback", sa.Boolean(), nullable=False),
        sa.Column("ranked", sa.Boolean(), nullable=False),
    ]


def _tell_of_machines() -> None:
    table = sa.table("machines", *map(sa.column, ("id", "chip", "cpu_cores", "gpu_cores", "virtual", "bin")))
    connection = op.get_bind()
    for row in connection.execute(sa.select(table)).mappings().all():
        told = _bin(row)
        if told is not None:
            connection.execute(table.update().where(table.c.id == row["id"]).values(bin=told))


def _bin(row: Any) -> str | None:
    if row["virtual"]:
        return f"{row['cpu_cores']} virtual cores" if row["cpu_cores"] else "virtual cores"
    if not (row["chip"] or "").startswith("Apple "):
        return None
    parts = ((row["cpu_cores"], "core CPU"), (row["gpu_cores"], "core GPU"))
    return ", ".join(f"{number}-{words}" for number, words in parts if number) or None


def _tell_of_software() -> None:
    names = ("id", "torch_version", "os_name", "os_version", "torch_minor", "os_major")
    table = sa.table("software", *map(sa.column, names))
    connection = op.get_bind()
    for row in connection.execute(sa.select(table)).mappings().all():
        minor = re.match(r"([0-9]+\.[0-9]+)(?![0-9])", row["torch_version"] or "")
        major = re.match(r"([0-9]+)(?![0-9])", row["os_version"] or "")
        system = row["os_name"]
        if system == "macOS" and major:
            system = f"macOS {major[1]}"
        told = {"torch_minor": minor[1] if minor else None, "os_major": system}
        connection.execute(table.update().where(table.c.id == row["id"]).values(**told))


def _digest_anew(table: str) -> None:
    """Digests leave out what is unknown from now on, so that a field that comes later changes none.

    Rows that were told apart by a field that one of them could not know stay two rows, and one its old digest.
    """
    connection = op.get_bind()
    told = {"id", "machine_id", "digest", "bin", "torch_minor", "os_major"}
    rows = connection.execute(sa.text(f"SELECT * FROM {table} ORDER BY id")).mappings().all()  # noqa: S608 - two names
    lists = ("tier_counts", "cpu_tiers", "torch_build", "environment")
    flags = ("virtual", "rosetta", "torch_debug")
    taken = {row["digest"] for row in rows}
    for row in rows:
        known = {name: value for name, value in row.items() if name not in told and value is not None}
        known |= {name: json.loads(known[name]) for name in lists if isinstance(known.get(name), str)}
        known |= {name: bool(known[name]) for name in flags if name in known}
        if not known.get("environment", True):
            del known["environment"]
        text = json.dumps(known, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        digest = hashlib.sha256(text.encode()).hexdigest()
        if digest not in taken:
            taken.add(digest)
            changed = sa.text(f"UPDATE {table} SET digest = :digest WHERE id = :id")  # noqa: S608
            connection.execute(changed, {"digest": digest, "id": row["id"]})
