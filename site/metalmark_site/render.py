"""Templates to Markdown, with everything that is not ours made inert on its way in."""

import json
from collections.abc import Callable

import jinja2

from . import text, units
from .data import data
from .page import Content

FILTERS: dict[str, Callable[..., object]] = {
    "inert": text.inert,
    "addresses": text.addresses,
    "seconds": units.seconds,
    "digits": units.digits,
}


def templates() -> jinja2.Environment:
    """The templates: an unknown name is an error, and each expression is escaped unless it is Markdown of ours."""
    environment = jinja2.Environment(  # noqa: S701 - the pages are Markdown: `finalize` escapes for it, always
        loader=jinja2.FileSystemLoader(data("templates")),
        undefined=jinja2.StrictUndefined,
        finalize=text.finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(FILTERS)
    return environment


def markdown(environment: jinja2.Environment, template: str, content: Content, **shared: object) -> str:
    """The page as Markdown, with its title in front of it for the theme."""
    title = text.plain(content.title)
    body = environment.get_template(template).render(**shared, **content.context, title=text.Markdown(title))
    return f"---\ntitle: {json.dumps(title)}\nhide:\n  - navigation\n---\n\n{body}"
