"""The page of the data: what there is to ask, in which words, and questions that people ask, ready to run."""

from collections.abc import Iterator

from metalmark_db.dictionary import Described
from metalmark_db.ready import QUERIES

from .. import units
from ..facts import Facts
from ..figures import Figure, Table
from ..page import Content
from ..text import Markdown

START = 10  # tables and views that are shown at once; the others are folded away
COLUMNS = ("Column", "Type", "Meaning")


def page(facts: Facts) -> Iterator[Content]:
    """The data dictionary."""
    figures = [(one, _figure(one)) for one in facts.dictionary]
    yield Content(
        path="data.md",
        title="Data",
        figures=tuple(figure for _, figure in figures),
        context={
            "queries": [{"question": one.question, "sql": Markdown(one.sql.strip())} for one in QUERIES],
            "first": [_section(one, figure) for one, figure in figures[:START]],
            "rest": [_section(one, figure) for one, figure in figures[START:]],
        },
    )


def _section(one: Described, figure: Figure) -> dict[str, object]:
    return {"name": one.name, "kind": one.kind, "meaning": one.meaning, "figure": figure.placeholder}


def _figure(one: Described) -> Figure:
    caption = f"Columns of {one.name}"
    table = Table(
        caption=caption,
        columns=COLUMNS,
        rows=[(column.name, column.type, column.meaning) for column in one.columns],
        texts=frozenset({"Meaning"}),
        summary=units.count(len(one.columns), "column"),
    )
    return Figure(id=f"data-{one.name.replace('_', '-')}", caption=caption, tables=(table,))
