"""A figure of a page: its drawing, its data as tables, and how both become HTML."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .charts.base import Axis, Chart, Row, Size, Spec
from .draw import Drawing
from .text import Markdown, escape


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of texts; columns in ``numbers`` are set to the right, those in ``texts`` get room to wrap."""

    caption: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()
    summary: str | None = None  # folded away under this line; shown at once without one


@dataclass(frozen=True, kw_only=True)
class Plot:
    """A chart with its rows."""

    chart: Chart
    rows: Sequence[Row]
    axis: Axis
    key: tuple[tuple[str, str], ...] = ()  # (class of the colour, words)

    def spec(self, size: Size) -> Spec:
        """The Vega-Lite specification of one of the drawings."""
        return self.chart.spec(self.rows, size, self.axis)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What stands in a page's placeholder: a drawing, tables, or both."""

    id: str  # unique in the site; lower-case letters, digits and hyphens
    caption: str
    plot: Plot | None = None
    tables: tuple[Table, ...] = ()

    @property
    def placeholder(self) -> Markdown:
        """The empty element that the Markdown carries; small, and left out of the search."""
        return Markdown(f'<figure id="{self.id}" data-search-exclude></figure>')

    def drawing_ids(self) -> dict[Size, str]:
        """The name of each drawing, which is also the name of its file."""
        return {size: f"{self.id}-{size.value}" for size in Size} if self.plot else {}


def figure_html(figure: Figure, drawings: Mapping[str, Drawing]) -> str:
    """The figure as it stands in the finished page."""
    parts = [f'<figcaption id="{figure.id}-caption">{escape(figure.caption)}</figcaption>']
    if figure.plot:
        parts += [_key(figure.plot), *_drawings(figure, drawings), _tools()]
    parts += [_table(table) for table in figure.tables]
    kind = "mm-figure" if figure.plot else "mm-figure mm-figure--table"
    return f'<figure class="{kind}" id="{figure.id}" data-search-exclude>{"".join(parts)}</figure>'


def _drawings(figure: Figure, drawings: Mapping[str, Drawing]) -> list[str]:
    named = f'role="img" aria-labelledby="{figure.id}-caption"'
    return [
        f'<div class="mm-drawing mm-drawing--{size.value}" data-chart="{name}">'
        f"{drawings[name].svg.replace('<svg ', f'<svg {named} ', 1)}</div>"
        for size, name in figure.drawing_ids().items()
    ]


def _key(plot: Plot) -> str:
    entries = "".join(f'<li class="mm-key mm-key--{name}">{escape(words)}</li>' for name, words in plot.key)
    return f'<ul class="mm-keys" aria-label="Key">{entries}</ul>' if entries else ""


def _tools() -> str:
    # Hidden until the loader runs: without JavaScript there is nothing to press.
    button = '<button type="button" class="mm-wake" aria-live="polite" hidden>Make interactive</button>'
    return f'<p class="mm-tools">{button}</p>'


def _table(table: Table) -> str:
    classes = [_class(table, column) for column in table.columns]
    head = "".join(f"<th scope=col{cls}>{escape(c)}</th>" for c, cls in zip(table.columns, classes, strict=True))
    body = "".join(f"<tr>{_cells(row, classes)}</tr>" for row in table.rows)
    label = escape(table.caption)
    inner = (
        f'<div class="mm-scroll" role="region" tabindex="0" aria-label="{label}">'
        f"<table class=mm-table><caption>{label}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
    if table.summary is None:
        return inner
    return f"<details class=mm-data><summary>{escape(table.summary)}</summary>{inner}</details>"


def _class(table: Table, column: str) -> str:
    if column in table.numbers:
        return " class=mm-number"
    return " class=mm-text" if column in table.texts else ""


def _cells(row: Sequence[str], classes: Sequence[str]) -> str:
    first, *others = zip(row, classes, strict=True)
    cells = "".join(f"<td{cls}>{escape(text)}</td>" for text, cls in others)
    return f"<th scope=row{first[1]}>{escape(first[0])}</th>{cells}"
