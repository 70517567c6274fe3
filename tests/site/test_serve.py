"""The small server: this machine only, this folder only, the right types."""

import http.client
import socket
import threading
import webbrowser
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from metalmark_db.errors import UsageProblem
from metalmark_site import serve as module
from metalmark_site.errors import SiteProblem
from metalmark_site.serve import HOST, address, open_server, serve


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small site beside a secret."""
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    site = tmp_path / "html"
    (site / "charts").mkdir(parents=True)
    (site / "page").mkdir()
    for name, text in (
        ("index.html", "home"),
        ("404.html", "not here"),
        ("page/index.html", "page"),
        ("loader.js", "js"),
        ("metalmark.css", "css"),
        ("icon.svg", "<svg/>"),
        ("charts/a.json", "{}"),
    ):
        (site / name).write_text(text, encoding="utf-8")
    (site / "leak.txt").symlink_to(tmp_path / "secret.txt")
    return site


@pytest.fixture
def port(folder: Path) -> Iterator[int]:
    """The port of a running server."""
    with open_server(folder, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield int(server.server_address[1])
        server.shutdown()
        thread.join()


def get(port: int, path: str, method: str = "GET") -> tuple[int, str | None, bytes]:
    """Status, type and body of an answer; the path goes out exactly as given."""
    connection = http.client.HTTPConnection(HOST, port, timeout=10)
    connection.putrequest(method, path, skip_host=False)
    connection.endheaders()
    answer = connection.getresponse()
    result = answer.status, answer.getheader("Content-Type"), answer.read()
    connection.close()
    return result


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/page/", "text/html; charset=utf-8"),
        ("/loader.js", "text/javascript; charset=utf-8"),
        ("/metalmark.css", "text/css; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
        ("/charts/a.json", "application/json; charset=utf-8"),
    ],
)
def test_files_come_with_their_type(port: int, path: str, kind: str) -> None:
    """Browsers run no script and read no style of another type."""
    status, found, _ = get(port, path)
    assert (status, found) == (200, kind)


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/leak.txt", "//secret.txt", "/charts/"],
)
def test_what_is_not_there_gets_the_sites_own_page(port: int, path: str) -> None:
    """Also what lies outside the folder, links that lead out of it, and folders without a page."""
    assert get(port, path) == (404, "text/html; charset=utf-8", b"not here")


def test_a_question_for_the_head_gets_no_body(port: int) -> None:
    """HEAD is answered like GET, without the page."""
    assert get(port, "/nothing", "HEAD")[::2] == (404, b"")
    assert get(port, "/", "HEAD")[::2] == (200, b"")


def test_other_methods_are_refused_plainly(port: int) -> None:
    """Nothing can be sent to this server."""
    assert get(port, "/", "POST")[0] == 501


def test_the_server_listens_on_this_machine_only(folder: Path) -> None:
    """127.0.0.1, never all addresses."""
    with open_server(folder, 0) as server:
        assert server.server_address[0] == "127.0.0.1"
        assert address(server) == f"http://127.0.0.1:{server.server_address[1]}/"


def test_a_taken_port_is_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next free one is taken; if all are taken, the error says what to do."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        number = taken.getsockname()[1]
        monkeypatch.setattr(module, "FIRST_PORT", number)
        with open_server(folder) as server:
            assert server.server_address[1] > number
        with pytest.raises(SiteProblem, match="--port"):
            open_server(folder, number)


def test_without_a_site_the_error_names_the_command(tmp_path: Path) -> None:
    """Whoever serves before building learns how to build."""
    with pytest.raises(UsageProblem, match="metalmark build"):
        open_server(tmp_path)


def test_serving_says_its_address_opens_the_browser_and_ends_with_ctrl_c(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, one window, no traceback."""
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", interrupt)
    said: list[str] = []
    serve(folder, port=0, say=said.append)
    serve(folder, port=0, browser=False, say=said.append)
    assert said[0].startswith(f"{opened[0]} shows ")
    assert said[1] == "ended"
    assert len(opened) == 1
