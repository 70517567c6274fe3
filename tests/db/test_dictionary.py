"""The data dictionary tells of everything that is in a database, in the same words on both engines."""

import msgspec
import pytest
import sqlalchemy as sa

from metalmark_db.dictionary import ORDER, described
from metalmark_db.document import Document, schema
from metalmark_db.models import Base
from metalmark_db.record import Case, Machine, Round
from metalmark_db.rows import ResultRow
from metalmark_db.views import ALL


def test_every_table_and_view_is_described_with_all_columns(any_engine: sa.Engine) -> None:
    with any_engine.connect() as connection:
        found = {one.name: one for one in described(connection)}
        assert set(found) == set(ORDER) == {*ALL, *Base.metadata.tables}
        for name, one in found.items():
            there = [column["name"] for column in sa.inspect(connection).get_columns(name)]
            assert sorted(column.name for column in one.columns) == sorted(there)
            assert one.meaning
            assert all(column.meaning and column.type for column in one.columns)


def test_both_engines_have_the_same_columns_in_the_same_words(engine: sa.Engine, postgres: str) -> None:
    server = sa.create_engine(postgres)
    with engine.connect() as one, server.connect() as other:
        assert described(one) == described(other)
    server.dispose()


def test_the_rows_of_results_are_the_view(engine: sa.Engine) -> None:
    """A field that is added to one of them is missed in the other."""
    view = {column["name"] for column in sa.inspect(engine).get_columns("results")}
    assert view == set(ResultRow.__struct_fields__) - {"calibration"}


@pytest.mark.parametrize("struct", [Machine, Case, Round])
def test_the_schema_of_documents_says_what_the_columns_say(struct: type[msgspec.Struct], engine: sa.Engine) -> None:
    table = {Machine: "machines", Case: "cases", Round: "rounds"}[struct]
    told = msgspec.json.decode(schema())["$defs"][struct.__name__]["properties"]
    with engine.connect() as connection:
        (found,) = (one for one in described(connection) if one.name == table)
    columns = {column.name: column.meaning for column in found.columns}
    plain = [name for name, one in told.items() if "description" in one and name in columns]
    assert len(plain) > 5
    for name in plain:
        assert columns[name].startswith(told[name]["description"])


def test_the_schema_is_of_documents() -> None:
    made = msgspec.json.decode(schema())
    assert made["$ref"] == f"#/$defs/{Document.__name__}"
    document = made["$defs"][Document.__name__]
    assert set(document["required"]) == {"format_version", "digest", "run"}
    assert document["additionalProperties"] is False
