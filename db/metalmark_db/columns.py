"""Table columns derived from the record types, so that a field is defined once."""

import math
import types
from collections.abc import Collection, Mapping
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct
from sqlalchemy import JSON, BigInteger, Boolean, Double, Integer, String, Text
from sqlalchemy.orm import MappedColumn, mapped_column
from sqlalchemy.types import TypeEngine

_Record = TypeVar("_Record", bound=Struct)


def columns_of(
    struct: type[Struct], *, leave_out: Collection[str] = (), prefix: str = ""
) -> dict[str, MappedColumn[Any]]:
    """One column for each field of a record type: type, nullability and the meaning as its comment.

    Containers become JSON, which SQLite's and PostgreSQL's JSON functions read. Fields named in
    ``leave_out`` live elsewhere. A field that is a record of its own and may be None is spread over
    nullable columns that begin with its name.
    """
    columns: dict[str, MappedColumn[Any]] = {}
    for name, hint in get_type_hints(struct, include_extras=True).items():
        if name in leave_out:
            continue
        inner = record_of(hint)
        if inner is not None:
            columns |= columns_of(inner, prefix=f"{name}_")
        else:
            columns[prefix + name] = _column(hint, nullable=bool(prefix))
    return columns


def record_of(hint: Any) -> type[Struct] | None:
    """The record type that a field holds, or None for a plain field."""
    plain, _ = _unwrap(hint)
    return plain if isinstance(plain, type) and issubclass(plain, Struct) else None


def plain_type(hint: Any) -> Any:
    """The bare type of a field, without its definition and without None."""
    return _unwrap(hint)[0]


def flat(value: Struct, *, leave_out: Collection[str] = ()) -> dict[str, Any]:
    """The row of a record: what ``columns_of`` has a column for."""
    row: dict[str, Any] = {}
    for name, inner, holds_more in _fields(type(value)):
        if name in leave_out:
            continue
        content = getattr(value, name)
        if inner is not None:
            for field, _, more in _fields(inner):
                found = None if content is None else getattr(content, field)
                row[f"{name}_{field}"] = msgspec.to_builtins(found) if more else found
        else:
            row[name] = msgspec.to_builtins(content) if holds_more else content
    return row


@cache
def _fields(struct: type[Struct]) -> tuple[tuple[str, type[Struct] | None, bool], ...]:
    """Name of each field, the record that it holds, and whether it holds anything but a number or a text."""
    hints = get_type_hints(struct, include_extras=True)
    plain = {name: _unwrap(hint)[0] for name, hint in hints.items()}
    return tuple((name, record_of(hint), plain[name] not in (int, float, str, bool)) for name, hint in hints.items())


def unflat(
    struct: type[_Record], row: Mapping[Any, Any], *, elsewhere: Mapping[str, Any] | None = None, prefix: str = ""
) -> _Record:
    """The record of a row that ``flat`` made; fields that live ``elsewhere`` are handed in."""
    values: dict[str, Any] = dict(elsewhere or {})
    for name, hint in get_type_hints(struct, include_extras=True).items():
        inner = record_of(hint)
        if name in values:
            continue
        if inner is None:
            values[name] = _stored(hint, row[prefix + name])
        elif any(row[f"{name}_{field}"] is not None for field in inner.__struct_fields__):
            values[name] = unflat(inner, row, prefix=f"{name}_")
    return msgspec.convert(values, struct)


def field_meaning(struct: type[Struct], name: str) -> Meta:
    """The definition of a field: description, unit (``extra["unit"]``) and checks."""
    return _meta(get_type_hints(struct, include_extras=True)[name])


def _stored(hint: Any, value: Any) -> Any:
    plain, optional = _unwrap(hint)
    # SQLite has no NaN and keeps NULL in its place.
    return math.nan if value is None and plain is float and not optional else value


def _meta(hint: Any) -> Meta:
    return next(m for m in get_args(hint)[1:] if isinstance(m, Meta) and m.description)


def _column(hint: Any, *, nullable: bool) -> MappedColumn[Any]:
    meta = _meta(hint)
    unit = (meta.extra or {}).get("unit")
    comment = f"{meta.description} ({unit})" if unit else meta.description
    plain, optional = _unwrap(hint)
    # Python's None in a JSON column is SQL's NULL, as in any other: unknown is unknown.
    return mapped_column(_sql_type(plain), nullable=nullable or optional, comment=comment)


def _unwrap(hint: Any) -> tuple[Any, bool]:
    """The bare type and whether None is allowed."""
    if get_origin(hint) is Annotated:
        return _unwrap(get_args(hint)[0])
    if get_origin(hint) in (Union, types.UnionType):
        inner = [a for a in get_args(hint) if a is not type(None)]
        return _unwrap(inner[0])[0], True
    return hint, False


def _sql_type(plain: Any) -> TypeEngine[Any]:
    if get_origin(plain) in (tuple, dict):
        return JSON(none_as_null=True)
    if plain is bool:
        return Boolean()
    if plain is int:
        return BigInteger().with_variant(Integer(), "sqlite")
    if plain is float:
        return Double()
    if plain is str:
        return Text()
    return String(40)  # the closed vocabularies
