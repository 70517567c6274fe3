"""One strict Content-Security-Policy for all pages.

The theme's instant navigation keeps the document and appends the next page's policy, so a page that
allowed less or more than the others would break: every page gets the union of all hashes.
"""

import base64
import hashlib
import re
from collections.abc import Iterable
from html.parser import HTMLParser

_ARTICLE = re.compile(r"<article\b.*</article>", re.DOTALL)
_META = '<meta charset="utf-8">'


class _Inline(HTMLParser):
    """Collects the texts of inline scripts and styles."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.found: dict[str, set[str]] = {"script": set(), "style": set()}
        self._open: str | None = None
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begins to listen at an inline script or style."""
        if tag in self.found and "src" not in dict(attrs):
            self._open, self._text = tag, []

    def handle_data(self, data: str) -> None:
        """Keeps the text of what is open."""
        if self._open:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        """Notes the text of what closes."""
        if self._open == tag:
            self.found[tag].add("".join(self._text))
            self._open = None


def policy(pages: Iterable[str]) -> str:
    """The policy that lets the inline scripts and styles of these pages' frames run, and nothing else inline."""
    parser = _Inline()
    for page in pages:
        # Only the theme's frame counts: a script that slipped into a page's text must never earn a hash.
        parser.feed(_ARTICLE.sub("", page))
        parser.reset()
    scripts = " ".join(["'self'", *_hashes(parser.found["script"])])
    styles = " ".join(["'self'", *_hashes(parser.found["style"])])
    return (
        f"default-src 'none'; script-src {scripts}; style-src {styles}; img-src 'self' data:; "
        "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"
    )


def with_policy(page: str, text: str) -> str:
    """The page with the policy directly after its character set, before anything that it governs."""
    if _META not in page:
        raise ValueError("the theme's page does not begin with its character set")
    return page.replace(_META, f'{_META}<meta http-equiv="Content-Security-Policy" content="{text}">', 1)


def _hashes(texts: Iterable[str]) -> list[str]:
    # Browsers hash the text after line ends are normalised.
    digests = (hashlib.sha256(text.replace("\r\n", "\n").encode()).digest() for text in texts)
    return sorted(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
