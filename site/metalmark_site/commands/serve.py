"""``metalmark serve``: the built site in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from ..serve import serve as serve_folder


def serve(
    out: Annotated[Path, typer.Option(help="Folder that `metalmark build` wrote to.")] = Path("build"),
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port; the next free one from 8000 without it.")
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")] = False,
) -> None:
    """Show the built site in the browser, on this machine only."""
    serve_folder(out / "html", port=port, browser=not no_open, say=typer.echo)
