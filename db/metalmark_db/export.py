"""The database handed out: CSV, JSON lines, Parquet, an SQLite file without raw samples, or documents."""

import contextlib
import csv
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import sqlalchemy as sa

from . import dictionary, document, queries, summary
from .engine import open_database
from .errors import MissingPart, UsageProblem
from .load import load_run
from .models import Base
from .output import plain
from .packing import insert_many

BATCH = 2_000  # rows in memory at once
READABLE = (
    *("results", "speedups", "coverage", "everything", "summary", "cells"),
    *("published", "machines", "software", "workloads", "sources", "chips"),
)
_FLAGS = ("virtual", "fallback", "ranked", "rosetta", "torch_debug")
_LISTS = ("flags", "fallback_ops", "tier_counts", "cpu_tiers", "environment", "torch_build")
_LONGEST = 120  # characters of a folder's name
_LEFT_OUT = ("rounds", "ranks")  # raw samples, and what a new file has by itself
_NO_CHIP = "__HIVE_DEFAULT_PARTITION__"

Told = Callable[[int], None]  # rows written


class Form(StrEnum):
    """What is written."""

    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    SQLITE = "sqlite"
    DOCUMENTS = "documents"
    DATASETTE = "datasette"


def rows(engine: sa.Engine, table: str, chip: Any = ...) -> Iterator[tuple[tuple[str, ...], Sequence[Sequence[Any]]]]:
    """The rows of a table or view in batches, each with the names of its columns; of one chip where one is given."""
    if table not in READABLE:
        raise UsageProblem(f"There is no table {table} to export. There are: {', '.join(READABLE)}.")
    where = "" if chip is ... else " WHERE chip IS NULL" if chip is None else " WHERE chip = :chip"
    statement = sa.text(f"SELECT * FROM {table}{where}")  # noqa: S608 - one of our own names
    options = {"stream_results": True, "max_row_buffer": BATCH}
    with engine.connect().execution_options(**options) as connection:
        found = connection.execute(statement, {} if chip in (..., None) else {"chip": chip})
        names = tuple(found.keys())
        empty = True
        for batch in found.partitions(BATCH):
            empty = False
            yield names, [tuple(map(_alike, names, row)) for row in batch]
        if empty:
            yield names, []


def _alike(name: str, value: Any) -> Any:
    """The value as both engines have it: SQLite says 0 and 1 for false and true, PostgreSQL takes JSON apart."""
    if value is None or isinstance(value, str):
        return value
    if name in _FLAGS:
        return bool(value)
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list | dict) else value


def write_csv(engine: sa.Engine, table: str, file: IO[str], told: Told = lambda _: None) -> None:
    """Write a table as CSV with a line of names."""
    writer, first = csv.writer(file, lineterminator="\n"), True
    for names, batch in rows(engine, table):
        if first:
            writer.writerow(names)
            first = False
        writer.writerows([plain(cell) for cell in row] for row in batch)
        told(len(batch))


def write_jsonl(engine: sa.Engine, table: str, file: IO[str], told: Told = lambda _: None) -> None:
    """Write a table as one JSON object a line."""
    for names, batch in rows(engine, table):
        for row in batch:
            found = {name: _told(name, cell) for name, cell in zip(names, row, strict=True)}
            file.write(json.dumps(found, ensure_ascii=False, default=str, allow_nan=False) + "\n")
        told(len(batch))


def _told(name: str, value: Any) -> Any:
    return json.loads(value) if name in _LISTS and isinstance(value, str) else plain(value)


def write_documents(engine: sa.Engine, file: IO[bytes], told: Told = lambda _: None) -> None:
    """Write every run as its document, one a line, oldest first: what ``ingest`` takes."""
    for number in sorted(queries.run_ids(engine)):
        file.write(document.encode(document.document_of(*load_run(engine, number))))
        told(1)


def write_datasette(engine: sa.Engine, file: IO[str], database: str) -> None:
    """Write the metadata that Datasette shows beside an SQLite file: ``datasette NAME.sqlite -m metadata.json``."""
    with engine.connect() as connection:
        json.dump(dictionary.datasette(connection, database), file, ensure_ascii=False, indent=1)


def write_parquet(engine: sa.Engine, table: str, folder: Path, told: Told = lambda _: None) -> None:
    """Write a table as a folder of Parquet files, one partition a chip, as DuckDB, Spark and ClickHouse read them.

    Raises:
        MissingPart: pyarrow is not installed.
    """
    try:
        from pyarrow import Table, parquet  # noqa: PLC0415 - an optional part
    except ModuleNotFoundError as error:
        raise MissingPart("Parquet needs pyarrow. Install it with: pip install 'metalmark[parquet]'") from error
    schema = _schema(engine, table)
    if "chip" not in schema.names:
        raise UsageProblem(f"The table {table} has no chip to part its rows by. Export it as csv or jsonl.")
    inner = schema.remove(schema.get_field_index("chip"))  # the folder's name says it
    with engine.connect() as connection:
        chips = connection.scalars(sa.text(f"SELECT DISTINCT chip FROM {table}")).all()  # noqa: S608
    for chip in sorted(chips, key=lambda name: name or ""):
        place = folder / f"chip={_folder(chip)}"
        place.mkdir(parents=True)
        with parquet.ParquetWriter(place / "part-0.parquet", inner, compression="zstd") as writer:
            for names, batch in rows(engine, table, chip):
                columns = dict(zip(names, zip(*batch, strict=True), strict=True)) if batch else {}
                cells = {one.name: _typed(one, columns.get(one.name, ())) for one in inner}
                writer.write_table(Table.from_pydict(cells, schema=inner))
                told(len(batch))


def _folder(chip: str | None) -> str:
    """A name of a folder, whatever a chip is called: never a path, and never too long."""
    if chip is None:
        return _NO_CHIP
    name = quote(chip, safe=" ()")
    if len(name) <= _LONGEST:
        return name
    return f"{quote(chip[:20], safe='')}-{hashlib.sha256(chip.encode()).hexdigest()[:16]}"


def _schema(engine: sa.Engine, table: str) -> Any:
    """The types of the columns: of a table as it is declared, of a view as its first values tell."""
    import pyarrow as pa  # noqa: PLC0415 - an optional part

    kinds: dict[str, Any] = {}
    for names, batch in rows(engine, table):
        for place, name in enumerate(names):
            seen = {type(row[place]) for row in batch} - {type(None)}
            kinds[name] = kinds.get(name, set()) | seen
    return pa.schema([(name, _arrow(pa, name, seen)) for name, seen in kinds.items()])


def _arrow(pa: Any, name: str, seen: set[type]) -> Any:
    if name in _FLAGS:
        return pa.bool_()
    if seen and seen <= {int}:
        return pa.int64()
    return pa.float64() if seen and seen <= {int, float} else pa.string()


def _typed(field: Any, values: Sequence[Any]) -> list[Any]:
    kind = str(field.type)
    read = {"bool": bool, "int64": int, "double": float}.get(kind, str)
    return [None if value is None else read(value) for value in values]


def write_sqlite(engine: sa.Engine, path: Path, told: Told = lambda _: None) -> None:
    """Write an SQLite file with everything but raw samples: the same tables and views, of either engine."""
    copy = open_database(str(path))
    tables = [table for table in Base.metadata.sorted_tables if table.name not in _LEFT_OUT]
    options: dict[str, Any] = {"stream_results": True, "max_row_buffer": BATCH}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "REPEATABLE READ"
    # All tables as they are at one moment, whatever is written meanwhile.
    with engine.connect().execution_options(**options) as source, copy.begin() as target:
        for table in reversed(tables):
            target.execute(sa.delete(table))
        for table in tables:
            _copy(source, target, table, told)
    summary.refresh(copy)
    driver: Any = copy.raw_connection().driver_connection
    for statement in ("PRAGMA journal_mode=DELETE", "ANALYZE", "VACUUM"):
        driver.execute(statement)
    copy.dispose()


def _copy(source: sa.Connection, target: sa.Connection, table: sa.Table, told: Told) -> None:
    kept = [column for column in table.columns if column.name != "sustained_block_ns"]
    json_at = [place for place, column in enumerate(kept) if isinstance(column.type, sa.JSON)]
    for batch in source.execute(sa.select(*kept).order_by(*table.primary_key)).partitions(BATCH):
        lines = [list(row) for row in batch]
        for line in lines:
            for place in json_at:
                line[place] = None if line[place] is None else json.dumps(line[place], separators=(",", ":"))
        insert_many(target, table.name, [column.name for column in kept], lines)
        told(len(batch))


@contextlib.contextmanager
def whole(path: Path, *, replace: bool) -> Iterator[Path]:
    """A place beside ``path`` to write to, which takes its name when all is written; what is there stays until then.

    Raises:
        UsageProblem: there is something already, and it may not be replaced.
    """
    if path.name in ("", ".."):
        raise UsageProblem(f"{path} names no file. Say how what is written shall be called.")
    if path.exists() and not replace:
        raise UsageProblem(f"{path} is there already. Choose another name, or replace it with --force.")
    if path.is_dir() and not _is_export(path):
        raise UsageProblem(f"{path} is a folder that no export has written. Choose another name; nothing was replaced.")
    if Path(f"{path}-wal").exists():
        raise UsageProblem(f"{path} is a database that is in use ({path}-wal lies beside it). Choose another name.")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=path.parent) as folder:
        fresh, old = Path(folder) / path.name, Path(folder) / "old"
        yield fresh
        if path.is_dir():
            path.rename(old)
        try:
            fresh.replace(path)
        except BaseException:  # an interruption too: what was there is put back
            if old.exists():
                old.rename(path)
            raise


def _is_export(folder: Path) -> bool:
    """Whether a folder holds nothing but partitions, as ``write_parquet`` makes them."""
    return all(one.is_dir() and one.name.startswith("chip=") for one in folder.iterdir())
