"""Contributed text is inert: in Markdown, in HTML, in titles and in file names."""

import html
import re

import markdown
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metalmark_site.text import (
    Markdown,
    addresses,
    described,
    escape,
    finalize,
    inert,
    natural,
    one_line,
    plain,
    shorten,
    shorten_inside,
    slug,
)

EXTENSIONS = ["admonition", "attr_list", "md_in_html", "tables", "toc", "pymdownx.superfences"]
MARKUP = st.text(alphabet="<>&\"'[](){}#*_`|!+-.:=~^\\/ax1 \t", max_size=60)


def shown(page: str) -> str:
    """What a reader sees of a paragraph."""
    return html.unescape(re.sub(r"^<p>|</p>$", "", page))


@given(text=MARKUP)
def test_inert_text_shows_exactly_its_characters_in_markdown(text: str) -> None:
    """No combination of special characters becomes an element; only the blanks are tidied."""
    page = markdown.markdown(inert(text), extensions=EXTENSIONS)
    assert shown(page) == one_line(text)


@given(text=MARKUP)
def test_inert_text_stays_in_its_table_cell(text: str) -> None:
    """A name cannot open a column, a row or an element in a table."""
    page = markdown.markdown(f"| a | b |\n| --- | --- |\n| {inert(text)} | end |", extensions=EXTENSIONS)
    assert page.count("<td>") == 2
    assert set(re.findall(r"<(\w+)", page)) == {"table", "thead", "tr", "th", "tbody", "td"}


@pytest.mark.parametrize(
    "text", ["# head", "1. item", "- item", "    code", "a\n\n# b", "```\ncode", "!!! note", "{% x %}"]
)
def test_block_markup_is_only_text(text: str) -> None:
    """Nothing at the start of a line begins a heading, list, code block or box."""
    assert re.findall(r"<(\w+)", markdown.markdown(inert(text), extensions=EXTENSIONS)) == ["p"]


def test_unknown_is_said_in_words() -> None:
    """None is never an empty place and never the word None."""
    assert inert(None) == "not known"


def test_only_our_own_markdown_passes_unescaped() -> None:
    """A template's expression is escaped unless it is marked as ours."""
    assert finalize("*a*") == "&#42;a&#42;"
    assert finalize(Markdown("*a*")) == "*a*"


def test_versions_and_names_stay_readable() -> None:
    """A dot or hyphen inside a word needs no escape."""
    assert inert("resnet50-train 2.11.0") == "resnet50-train 2.11.0"


def test_invisible_and_turning_characters_are_dropped() -> None:
    """Direction marks and control characters could make a text look like another one."""
    assert one_line("a\u202eb\x00c\u200bd\ne") == "a b c d e"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("<b>M1</b>", "b M1 /b"), ("[x](y)", "x (y)"), ("GPU or CPU?", "GPU or CPU?"), ("<>", "Unnamed"), ("a\nb", "a b")],
)
def test_titles_keep_only_letters_digits_and_mild_signs(text: str, expected: str) -> None:
    """Themes print titles raw, so nothing in them may be markup."""
    assert plain(text) == expected


@given(text=st.text(max_size=40))
def test_a_slug_is_a_safe_file_name(text: str) -> None:
    """No contributed text can name another folder, a hidden file or nothing."""
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug(text))


@given(texts=st.lists(st.text(alphabet="ab0129\u0663\u00b2 ", max_size=40)))
def test_any_texts_can_be_sorted_by_their_numbers(texts: list[str]) -> None:
    """Also those with digits of other scripts, or with very long numbers."""
    sorted([*texts, "9" * 5000], key=natural)
    assert sorted(["batch 128", "batch 8", "batch 32"], key=natural) == ["batch 8", "batch 32", "batch 128"]


def test_escaped_text_is_no_html() -> None:
    """Angle brackets, ampersands and quotes are characters."""
    assert escape("<a href='x'>\n\"&\"") == "&lt;a href=&#x27;x&#x27;&gt; &quot;&amp;&quot;"


def test_long_text_is_cut_with_an_ellipsis() -> None:
    """A cut is visible."""
    assert shorten("Apple M4 Max", 20) == "Apple M4 Max"
    assert shorten("Apple M4 Max", 9) == "Apple M4…"


def test_addresses_become_links_and_the_rest_stays_inert() -> None:
    """Only plain https addresses are links; javascript and markup are text."""
    text = 'see https://example.org/a_b?c=1 <b> javascript:alert(1) https://e.org/"onclick="x'
    page = markdown.markdown(addresses(text), extensions=EXTENSIONS)
    assert re.findall(r'href="([^"]+)"', page) == ["https://example.org/a_b?c=1", "https://e.org/"]
    assert set(re.findall(r"<(\w+)", page)) == {"p", "a"}


def test_plain_names_between_backticks_are_code_and_nothing_else_is() -> None:
    shown = described("torchvision's `resnet18` or `bert-base` with `<b>x</b>` and *stars*")
    assert "`resnet18`" in shown
    assert "`bert-base`" in shown
    assert "<b>" not in shown
    assert "*stars*" not in shown


@pytest.mark.parametrize(
    ("text", "length", "expected"),
    [
        ("BERT base training, 128 tokens, batch 4", 30, "BERT base training…, batch 4"),
        ("ResNet-50 training, batch 8", 30, "ResNet-50 training, batch 8"),
        ("A name without any comma that is long", 20, "A name without any…"),
        ("Short, and a tail that takes all the room", 20, "Short, and a tail t…"),
    ],
)
def test_a_label_keeps_what_tells_its_variant(text: str, length: int, expected: str) -> None:
    assert shorten_inside(text, length) == expected
    assert len(expected) <= length
