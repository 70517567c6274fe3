"""Records as the drivers of both engines take them: many rows in one call, without SQLAlchemy's work for each value."""

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, get_origin, get_type_hints

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from .columns import plain_type, record_of

Row = list[Any]


class Packer:
    """The columns of a record type, in order, and rows of its records in that order; JSON is text, words are texts."""

    def __init__(self, struct: type[Struct], leave_out: tuple[str, ...] = ()) -> None:
        hints = {
            name: hint for name, hint in get_type_hints(struct, include_extras=True).items() if name not in leave_out
        }
        own = [name for name, hint in hints.items() if record_of(hint) is None]
        types = [plain_type(hints[name]) for name in own]
        self._get = attrgetter(*own)
        self._json = [place for place, kind in enumerate(types) if get_origin(kind) in (tuple, dict)]
        self._words = [place for place, kind in enumerate(types) if isinstance(kind, type) and issubclass(kind, Enum)]
        self._inner = [(name, _packer(inner)) for name, hint in hints.items() if (inner := record_of(hint)) is not None]
        spread = [f"{name}_{field}" for name, inner in self._inner for field in inner.names]
        self.names: tuple[str, ...] = (*own, *spread)

    def row(self, value: Struct) -> Row:
        """The values of a record."""
        row = list(self._get(value))
        for place in self._json:
            if row[place] is not None:
                row[place] = _json(row[place])
        for place in self._words:
            if row[place] is not None:
                row[place] = row[place].value
        for name, inner in self._inner:
            content = getattr(value, name)
            row += [None] * len(inner.names) if content is None else inner.row(content)
        return row


def insert_many(connection: sa.Connection, table: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Put rows into a table; names are those of our own tables."""
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    listed, marks = ", ".join(f'"{name}"' for name in names), ", ".join([mark] * len(names))
    statement = f"INSERT INTO {table} ({listed}) VALUES ({marks})"  # noqa: S608 - our own names
    if rows:
        connection.exec_driver_sql(statement, [row if isinstance(row, tuple) else tuple(row) for row in rows])


@cache
def _packer(struct: type[Struct]) -> Packer:
    return Packer(struct)


_encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode


def _json(value: Any) -> str:
    return _encode(value).decode()
