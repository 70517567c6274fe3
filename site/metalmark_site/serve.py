"""Shows the finished site: a small server of static files on this machine only."""

import functools
import http.server
import webbrowser
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from metalmark_db.errors import UsageProblem

from .errors import SiteProblem

HOST = "127.0.0.1"
FIRST_PORT = 8000
TRIES = 50

# Said outright: what a system believes about file types differs, and browsers run no script of type text/plain.
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".xml": "application/xml; charset=utf-8",
    ".gz": "application/gzip",
    "": "application/octet-stream",
}


class Handler(http.server.SimpleHTTPRequestHandler):
    """Answers with files below its folder, and with the site's own page for what is not there."""

    extensions_map = TYPES
    server_version = "metalmark"
    sys_version = ""

    def translate_path(self, path: str) -> str:
        """The file of an address; a link that leads out of the folder leads nowhere."""
        root = Path(self.directory).resolve()
        wanted = super().translate_path(path)
        try:
            inside = Path(wanted).resolve().is_relative_to(root)
        except (ValueError, OSError):  # a NUL, a name too long
            inside = False
        return wanted if inside else str(root / "no such page")

    def list_directory(self, path: Any) -> None:  # noqa: ARG002 - the base class's signature
        """Nothing is listed: a folder without a page is not found."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """The site's own page for what is not there; the plain answer for anything else."""
        page = Path(self.directory) / "404.html"
        if code != HTTPStatus.NOT_FOUND or not page.exists():
            super().send_error(code, message, explain)
            return
        body = page.read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", TYPES[".html"])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def end_headers(self) -> None:
        """Headers that every answer has: a rebuilt site must show at once."""
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's signature
        """Silence: the terminal shows the address and nothing else."""


def open_server(folder: Path, port: int | None = None) -> http.server.ThreadingHTTPServer:
    """A server of ``folder``, bound to ``port`` or to the next free one from 8000."""
    if not (folder / "index.html").exists():
        raise UsageProblem(f"There is no site in {folder}. Run `metalmark build` first, or name its folder with --out.")
    handler = functools.partial(Handler, directory=str(folder.resolve()))
    ports = [port] if port is not None else range(FIRST_PORT, FIRST_PORT + TRIES)
    for candidate in ports:
        try:
            return http.server.ThreadingHTTPServer((HOST, candidate), handler)
        except OSError:  # taken, or not ours to take
            continue
    raise SiteProblem(f"No port is free for the site: tried {ports[0]} to {ports[-1]}. Name another one with --port.")


def address(server: http.server.ThreadingHTTPServer) -> str:
    """Where the browser finds the site."""
    return f"http://{HOST}:{server.server_address[1]}/"


def serve(
    folder: Path, *, port: int | None = None, browser: bool = True, say: Callable[[str], None] = lambda _: None
) -> None:
    """Nothing; serves ``folder`` until Ctrl-C."""
    with open_server(folder, port) as server:
        say(f"{address(server)} shows {folder}. Ctrl-C ends it.")
        if browser:
            webbrowser.open(address(server))
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("ended")
