"""The data dictionary: every table and view with its columns, told from the definitions that make them."""

from typing import Any, get_type_hints

import sqlalchemy as sa
from msgspec import Meta, Struct

from .aggregates import CellRow
from .columns import plain_type
from .models import Base
from .ready import QUERIES
from .rows import ResultRow
from .views import ALL

_KEY = "Number of the row"
# Columns of tables that are no field of a record and carry no comment of their own.
_MEANINGS = {
    "author": "Who published it",
    "title": "Its title",
    "licence": "Licence of the source, as far as known",
    "model": "Model or operation",
    "task": "inference (forward alone, and all operations) or train",
    "precision": "Number format, where stated",
    "batch_size": "Samples in one iteration",
    "input_shape": "Shape of one sample; of an operation all operands",
    "device": "cpu, mps, cuda or mlx_gpu, where stated",
    "chip": "Name of the chip",
    "variant": "Which bin of the chip",
    "cpu_cores": "CPU cores of the machine",
    "gpu_cores": "GPU cores",
    "memory_gb": "Memory of the machine (GB)",
    "os": "System, where stated",
    "framework": "pytorch or mlx",
    "framework_version": "Its version, where stated",
    "outcome": "How it ended; picture_only is a figure that exists as a picture alone",
    "note": "Remarks",
    "cpu_super": "Super cores",
    "cpu_performance": "Performance cores",
    "cpu_efficiency": "Efficiency cores",
    "memory_options_gb": "Sizes of memory that it is sold with (GB)",
    "source": "Where the facts come from",
    "version": "Version of the workload",
    "mode": "eager or compile",
    "why": "Why, in a line",
    "name": "What was loaded",
    "digest": "Its edition",
}
_VIEWS = {
    "results": "Measured cases, one flat row each: the view to start with",
    "speedups": "Cases of a GPU beside the CPU's fp32 eager time of the same run",
    "coverage": "What runs and what does not: outcomes by workload, family of chips, system and torch",
    "everything": "Measured and published, and which of the two (provenance)",
    "summary_view": "The definition of the table summary in SQL; slow in a large database",
    "cells_view": "The definition of the table cells in SQL; slow in a large database",
}
# What a view says besides the columns that results or cells have.
_OF_VIEWS = {
    "provenance": "measured, or published by others",
    "source": "The run, or the row in sources",
    "named": "The workload as the source names it",
    "grade": "How alike a published workload is to ours: same, near or other",
    "under_s": "What a time lies under that was printed as zero (s)",
    "memory_gb": "Memory of the machine (GiB where measured, GB where published)",
    "framework": "pytorch or mlx",
    "framework_version": "Its version",
    "runs": "Runs with this outcome",
    "newest": "Start of the newest of them in UTC, ISO 8601",
}
_TYPES: tuple[tuple[type[Any], str], ...] = (
    (sa.JSON, "JSON"),
    (sa.Boolean, "yes or no"),
    (sa.Double, "number"),
    (sa.Float, "number"),
    (sa.Integer, "whole number"),
    (sa.String, "text"),
)
_BEHIND = ("ranks", "touched", "loaded", "summary_view", "cells_view")  # of no use to most people
ORDER = (
    *("results", "speedups", "coverage", "everything", "summary", "cells", "machines", "published", "sources", "chips"),
    *("workloads", "runs", "cases", "rounds", "software", "conditions", "aliases", "mapping"),
    *("summary_view", "cells_view", "ranks", "touched", "loaded"),
)


class Column(Struct, frozen=True):
    """A column: its type in words, and its meaning with the unit."""

    name: str
    type: str
    meaning: str


class Described(Struct, frozen=True):
    """A table or view."""

    name: str
    kind: str  # table or view
    meaning: str
    columns: tuple[Column, ...]


def described(connection: sa.Connection) -> list[Described]:
    """Every table and view of a database, those to start with first."""
    found = {name: _view(name, connection) for name in ALL} | {
        table.name: _table(table) for table in Base.metadata.sorted_tables
    }
    return [found[name] for name in ORDER]


def datasette(connection: sa.Connection, database: str) -> dict[str, Any]:
    """What Datasette shows beside a file of this name: what tables and columns mean, and questions ready to ask."""
    tables = {
        one.name: {
            "description": f"{one.meaning}.",
            "columns": {column.name: column.meaning for column in one.columns},
            "hidden": one.name in _BEHIND,
        }
        for one in described(connection)
    }
    queries = {one.id: {"title": one.question, "sql": one.sql.strip()} for one in QUERIES}
    return {
        "title": "Metalmark",
        "description": "The open benchmark database for PyTorch on Apple silicon, with CPU and CUDA beside it.",
        "databases": {database: {"tables": tables, "queries": queries}},
    }


def _table(table: sa.Table) -> Described:
    model = next(one for one in Base.__subclasses__() if one.__tablename__ == table.name)
    columns = tuple(Column(one.name, _words(one.type), _meaning(one)) for one in table.columns)
    return Described(table.name, "table", (model.__doc__ or "").strip().partition("\n")[0].rstrip("."), columns)


def _meaning(column: sa.Column[Any]) -> str:
    if column.comment:
        return column.comment
    return _KEY if column.name == "id" else _MEANINGS[column.name]


def _words(kind: Any) -> str:
    return next(words for one, words in _TYPES if isinstance(kind, one))


def _view(name: str, connection: sa.Connection) -> Described:
    known = _defined(ResultRow) | _defined(CellRow) if name in ("summary_view", "cells_view") else _of_results()
    columns = [column["name"] for column in sa.inspect(connection).get_columns(name)]
    return Described(name, "view", _VIEWS[name], tuple(known.get(one) or _own(one) for one in columns))


def _of_results() -> dict[str, Column]:
    return _defined(CellRow) | _defined(ResultRow)


def _own(name: str) -> Column:
    return Column(
        name, "whole number" if name == "runs" else "number" if name[-2:] in ("_s", "gb") else "text", _OF_VIEWS[name]
    )


def _defined(struct: type[Struct]) -> dict[str, Column]:
    """The columns that a record type defines."""
    words = {int: "whole number", float: "number", bool: "yes or no", str: "text"}
    found = {}
    for name, hint in get_type_hints(struct, include_extras=True).items():
        metas = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, Meta) and one.description]
        for meta in metas[:1]:
            unit = (meta.extra or {}).get("unit")
            meaning = f"{meta.description} ({unit})" if unit else str(meta.description)
            found[name] = Column(name, words.get(plain_type(hint), "JSON"), meaning)
    return found
