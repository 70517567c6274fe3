"""The policy: strict, the same everywhere, and blind to what stands in a page's text."""

import base64
import hashlib

import pytest

from metalmark_site.csp import policy, with_policy


def source(text: str) -> str:
    """The hash source of an inline script."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_policy_is_the_union_over_all_pages() -> None:
    """One page's script and another's style stand in one policy, sorted, each once."""
    pages = [
        "<script>a()</script><script src=x.js></script>",
        "<script>b()</script><style>p{}</style>",
        "<script>a()</script>",
    ]
    text = policy(pages)
    scripts = " ".join(sorted([source("a()"), source("b()")]))
    assert f"script-src 'self' {scripts};" in text
    assert f"style-src 'self' {source('p{}')};" in text
    assert text.startswith("default-src 'none';")
    assert "unsafe" not in text


def test_a_script_in_the_text_of_a_page_earns_no_hash() -> None:
    """If contributed text ever became a script, the browser would still refuse it."""
    page = "<script>theme()</script><article class='x'><script>evil()</script></article><style>s{}</style>"
    text = policy([page])
    assert source("theme()") in text
    assert source("s{}") in text
    assert source("evil()") not in text


def test_line_ends_do_not_change_a_hash() -> None:
    """Browsers hash what they parsed."""
    assert policy(["<script>a\r\nb</script>"]) == policy(["<script>a\nb</script>"])


def test_the_policy_stands_before_anything_that_it_governs() -> None:
    """Directly after the character set; a page without one is not the theme's."""
    page = with_policy('<head><meta charset="utf-8"><script>a</script>', "default-src 'none'")
    expected = (
        '<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src \'none\'"><script>'
    )
    assert page.startswith(expected)
    with pytest.raises(ValueError, match="character set"):
        with_policy("<html></html>", "x")
