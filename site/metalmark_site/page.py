"""A generated page before it is Markdown: where it goes, what its template gets, which figures it holds."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from .facts import Facts
from .figures import Figure


@dataclass(frozen=True, kw_only=True)
class Content:
    """What one page says."""

    path: str  # below the pages' folder, ending in .md; made of our own slugs only
    title: str
    context: Mapping[str, object] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PageKind:
    """One row of the table of generated pages."""

    path: str  # with <...> for the part that differs from page to page
    template: str
    contents: Callable[[Facts], Iterable[Content]]
