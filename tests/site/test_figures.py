"""Figures as HTML: named, labelled, complete, and inert."""

import re
from html.parser import HTMLParser

from metalmark_site.charts import CHARTS, speed
from metalmark_site.charts.base import Size
from metalmark_site.draw import Drawing
from metalmark_site.facts import Facts
from metalmark_site.figures import Figure, Plot, Table, figure_html

EVIL = '<img src=x onerror=alert(1)>"><script>alert(2)</script>'


class Elements(HTMLParser):
    """Notes the names of all elements."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keeps the name; attributes do not matter here."""
        assert isinstance(attrs, list)
        self.names.append(tag)


def elements(page: str) -> list[str]:
    """The elements of a piece of HTML, in order."""
    parser = Elements()
    parser.feed(page)
    return parser.names


def table(**changes: object) -> Table:
    """A small table."""
    fields = {"caption": "Times", "columns": ("Chip", "Time"), "rows": [("M1", "1 ms")], "numbers": frozenset({"Time"})}
    return Table(**(fields | changes))  # type: ignore[arg-type]


def test_a_table_has_a_caption_and_scopes() -> None:
    """Who hears the page hears which row and column a cell belongs to."""
    page = figure_html(Figure(id="t", caption="All times", tables=(table(),)), {})
    assert "<caption>Times</caption>" in page
    assert "<th scope=col>Chip</th><th scope=col class=mm-number>Time</th>" in page
    assert "<th scope=row>M1</th><td class=mm-number>1 ms</td>" in page
    assert 'role="region" tabindex="0" aria-label="Times"' in page


def test_a_folded_table_says_what_is_in_it() -> None:
    """The summary stands before the table."""
    page = figure_html(Figure(id="t", caption="c", tables=(table(summary="Data: 1 row"),)), {})
    assert "<details class=mm-data><summary>Data: 1 row</summary><div" in page


def test_nothing_in_a_table_or_caption_is_markup() -> None:
    """Caption, columns, cells and summary are texts."""
    evil = table(caption=EVIL, columns=(EVIL, "b"), rows=[(EVIL, EVIL)], summary=EVIL)
    page = figure_html(Figure(id="t", caption=EVIL, tables=(evil,)), {})
    assert not {"img", "script"} & set(elements(page))


def test_a_drawing_is_one_named_picture_in_two_sizes(facts: Facts) -> None:
    """Both drawings carry the caption's name; the button waits for the script; the key has words."""
    rows = speed.rows(facts.results)
    plot = Plot(chart=CHARTS["speed"], rows=rows, axis=speed.AXIS, key=(("cpu", "CPU"),))
    figure = Figure(id="home-speed", caption="Speed", plot=plot)
    drawings = {name: Drawing(svg='<svg width="1"></svg>', vega=b"{}") for name in figure.drawing_ids().values()}
    page = figure_html(figure, drawings)
    assert figure.drawing_ids() == {Size.WIDE: "home-speed-wide", Size.NARROW: "home-speed-narrow"}
    assert page.count('<svg role="img" aria-labelledby="home-speed-caption" width="1">') == 2
    assert 'id="home-speed-caption"' in page
    assert re.search(r"<button[^>]* hidden>Make interactive</button>", page)
    assert '<li class="mm-key mm-key--cpu">CPU</li>' in page
