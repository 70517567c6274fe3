"""Drawing by Node: deterministic, separate, and clear about what went wrong."""

import json
import re
from pathlib import Path

import pytest

from metalmark_db.errors import MissingPart
from metalmark_site import data as places
from metalmark_site.charts import CHARTS, speed
from metalmark_site.charts.base import Size
from metalmark_site.draw import draw
from metalmark_site.errors import SiteProblem
from metalmark_site.facts import Facts

CLIPPED = {
    "data": {"values": [{"x": 1, "y": 2}]},
    "mark": {"type": "point", "clip": True},
    "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "quantitative"}},
}


def test_nothing_to_draw_starts_no_process() -> None:
    """An empty list is answered at once."""
    assert draw([]) == {}


def test_ids_in_a_drawing_are_its_own_and_do_not_depend_on_the_others() -> None:
    """Two drawings on one page must not point at each other's clips, and the same chart is the same bytes."""
    together = draw([("a", CLIPPED), ("b", CLIPPED)])
    alone = draw([("b", CLIPPED)])
    assert together["b"] == alone["b"]
    assert re.findall(r' id="([^"]+)"', together["a"].svg) == ["a-1"]
    assert "url(#a-1)" in together["a"].svg


def test_a_drawing_has_marks_fixed_size_and_no_style(facts: Facts) -> None:
    """The policy forbids style attributes; the frame is the shape's, whatever the labels."""
    spec = CHARTS["speed"].spec(speed.rows(facts.results), Size.NARROW, speed.AXIS)
    drawing = draw([("speed", spec)])["speed"]
    assert 'width="330"' in drawing.svg
    assert "style=" not in drawing.svg
    assert "<script" not in drawing.svg
    assert not re.search(r"\b(NaN|undefined)\b", drawing.svg)
    assert drawing.svg.count("aria-") == 0
    assert json.loads(drawing.vega)["$schema"].endswith("/vega/v6.json")


def test_names_in_a_drawing_are_text(facts: Facts, hostile: tuple[str, ...]) -> None:
    """A chip named like an element is drawn, not obeyed."""
    rows = speed.rows(row for row in facts.results if row.workload == "hostile-work")
    svg = draw([("x", CHARTS["speed"].spec(rows, Size.WIDE, speed.AXIS))])["x"].svg
    assert not re.search(r"<(img|script)", svg)
    assert "&lt;" in svg


def test_a_doubtful_chart_is_an_error() -> None:
    """What vega warns about is not published."""
    broken = CLIPPED | {"encoding": {"x": {"field": "missing", "type": "quantitative"}}}
    with pytest.raises(SiteProblem, match="odd: Infinite extent"):
        draw([("odd", broken)])


def test_missing_assets_are_named_with_the_command_that_makes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a checkout whose assets were never built."""
    monkeypatch.setattr(places, "CHECKOUT", tmp_path)
    with pytest.raises(MissingPart, match=r"python -m metalmark_site\.assets"):
        draw([("a", CLIPPED)])
    (tmp_path / "site/assets/dist").mkdir(parents=True)
    with pytest.raises(MissingPart, match=r"draw\.mjs is missing"):
        draw([("a", CLIPPED)])
