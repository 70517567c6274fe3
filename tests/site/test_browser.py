"""The finished site in a real browser: drawn without JavaScript, live with it, quiet, and at home everywhere."""

import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Dialog,
    Locator,
    Page,
    Request,
    expect,
    sync_playwright,
)

from metalmark_site.builder import build_site
from metalmark_site.facts import Facts
from metalmark_site.serve import address, open_server
from tools.browser import find_browser

pytestmark = pytest.mark.browser

# One of each kind of page.
KINDS = (
    "",
    "workloads/",
    "workloads/resnet50-infer/",
    "workloads/hostile/",
    "chips/",
    "chips/apple-m1/",
    "chips/amd-epyc-7b13/",
    "chips/other/",
    "published/as-published/",
    "published/gpu-or-cpu/",
    "published/mlx_benchmark/",
    "published/mishkin_tweets_2022/",
    "method/",
    "glossary/",
    "about/",
    "no-such-page/",
)
WITH_DRAWINGS = (
    "",
    "workloads/resnet50-infer/",
    "chips/apple-m1/",
    "published/as-published/",
    "published/gpu-or-cpu/",
)
# The smallest text of the shown drawings, in pixels of the screen.
SMALLEST_TEXT = """
  Math.min(...[...document.querySelectorAll(".mm-drawing svg")].flatMap((svg) => {
    const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    return scale ? [...svg.querySelectorAll("text")].map((t) => scale * parseFloat(getComputedStyle(t).fontSize)) : [];
  }))
"""
SILENT = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
)


@dataclass
class Visit:
    """A page, and what the browser complained about or asked of others while it was open."""

    page: Page
    home: str
    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Listens for complaints, dialogues, and requests that leave the site."""
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"dialogue: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.home, "data:")):
            self.foreign.append(request.url)

    def go(self, path: str) -> None:
        """Opens a page of the site."""
        self.page.goto(self.home + path)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's browser, or Playwright's own."""
    arguments = [*SILENT, *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=find_browser(), args=arguments)
        yield running
        running.close()


@contextmanager
def served(folder: Path, port: int = 0) -> Iterator[str]:
    """The address of a folder while it is served."""
    with open_server(folder, port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield address(server)
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def home(html: Path) -> Iterator[str]:
    """The address of the site."""
    with served(html) as site:
        yield site


Open = Callable[..., Visit]


@pytest.fixture
def visit(browser: Browser, home: str) -> Iterator[Open]:
    """Opens a window on the site; every complaint in it fails the test at its end."""
    visits: list[Visit] = []

    def begin(site: str = home, *, width: int = 1280, script: bool = True, scheme: str = "light") -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            java_script_enabled=script,
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        page = context.new_page()
        page.set_default_timeout(20_000)
        visit = Visit(page, site)
        visit.watch()
        visits.append(visit)
        return visit

    yield begin
    for done in visits:
        assert [text for text in done.complaints if "404 (Not Found)" not in text] == []
        assert done.foreign == []
        done.page.context.close()


def drawing(page: Page) -> Locator:
    """The first drawing that the width of the window shows."""
    return page.locator(".mm-drawing:visible").first


def marks(page: Page) -> Locator:
    """The dots, bars or cells of that drawing."""
    return drawing(page).locator(".mark-symbol path, .mark-rect path")


@pytest.mark.parametrize("path", WITH_DRAWINGS)
def test_charts_are_drawn_without_javascript(visit: Open, path: str) -> None:
    """The picture and its table are in the page; the button that could do nothing is hidden."""
    here = visit(script=False)
    here.go(path)
    box = drawing(here.page).locator("svg").bounding_box()
    assert box
    assert box["width"] > 600
    assert box["height"] > 80
    assert marks(here.page).count() >= 4
    assert here.page.locator(".mm-wake:visible").count() == 0
    here.page.locator("details.mm-data summary").first.click()
    expect(here.page.locator(".mm-table:visible").first).to_be_visible()


@pytest.mark.parametrize("path", WITH_DRAWINGS)
def test_a_chart_becomes_interactive_on_demand_and_stays_in_its_frame(visit: Open, path: str) -> None:
    """Vega is asked for by the click and not before; then a mark tells its details, and nothing has moved."""
    here = visit()
    asked: list[str] = []
    here.page.on("request", lambda request: asked.append(request.url))
    here.go(path)
    assert not any("interactive.js" in url or "/charts/" in url for url in asked)
    before = drawing(here.page).bounding_box()
    button = here.page.locator(".mm-wake").first
    button.click()
    expect(button).to_have_text("Interactive: point at a mark")
    expect(button).to_be_focused()
    after = drawing(here.page).bounding_box()
    assert before
    assert after
    assert (before["width"], before["height"]) == (after["width"], after["height"])
    drawing(here.page).locator(".mark-symbol path, .mark-rect path").last.hover()
    tip = here.page.locator(".mm-tip")
    expect(tip).to_be_visible()
    expect(tip).to_have_text(re.compile("Chip|Mac"))
    assert "null" not in tip.inner_text()


def test_the_pointer_and_the_keyboard_reach_for_a_chart(visit: Open) -> None:
    """Entering the drawing is enough, and so is arriving at its button by keyboard."""
    here = visit()
    here.go("chips/apple-m1/")
    drawing(here.page).hover()
    expect(drawing(here.page)).to_have_attribute("data-state", "live")
    here.go("workloads/matmul-2048/")
    here.page.locator(".mm-wake").first.focus()
    expect(drawing(here.page)).to_have_attribute("data-state", "live")


def test_a_failed_download_is_said_and_can_be_tried_again(visit: Open) -> None:
    """The still drawing stays."""
    here = visit()
    here.page.route("**/charts/*.json", lambda route: route.fulfill(status=404))
    here.go("chips/apple-m1/")
    button = here.page.locator(".mm-wake").first
    button.click()
    expect(button).to_have_text("Could not be loaded. Try again")
    assert marks(here.page).count() >= 4
    here.page.unroute("**/charts/*.json")
    button.click()
    expect(button).to_have_text("Interactive: point at a mark")


def test_every_kind_of_page_is_quiet_and_never_wider_than_its_window(visit: Open) -> None:
    """No console message and no request that leaves the site (the fixture looks); wide tables scroll by themselves."""
    here = visit()
    for path in KINDS:
        here.go(path)
        here.page.wait_for_load_state("networkidle")
        assert here.page.locator("h1").count() == 1
        for button in here.page.locator(".mm-wake").all()[:2]:
            button.click()
            expect(button).to_have_text("Interactive: point at a mark")
        for width in (1280, 768, 360):
            here.page.set_viewport_size({"width": width, "height": 900})
            assert here.page.evaluate("document.documentElement.scrollWidth") <= width, path
        here.page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.parametrize(("width", "size"), [(360, "narrow"), (768, "wide"), (1280, "wide")])
def test_one_drawing_is_shown_the_one_that_fits(visit: Open, width: int, size: str) -> None:
    """A phone gets the narrow drawing, with and without JavaScript."""
    here = visit(width=width, script=False)
    here.go("")
    shown = here.page.locator("#home-speed .mm-drawing:visible")
    assert shown.count() == 1
    assert f"mm-drawing--{size}" in (shown.get_attribute("class") or "")


def test_text_in_a_drawing_stays_legible_on_a_phone(visit: Open) -> None:
    """No text is scaled below nine pixels."""
    here = visit(width=360)
    for path in WITH_DRAWINGS:
        here.go(path)
        height = here.page.evaluate(SMALLEST_TEXT)
        assert height >= 9, path


def test_the_palette_repaints_still_and_live_drawings(visit: Open) -> None:
    """One drawing serves both palettes, before and after it became interactive."""
    here = visit()
    here.go("chips/apple-m1/")

    def colours() -> tuple[str, str]:
        find = "getComputedStyle(document.querySelector('.mm-drawing--wide {}')).fill"
        return (
            here.page.evaluate(find.format(".mark-symbol path")),
            here.page.evaluate(find.format(".mark-text text")),
        )

    def toggle() -> None:
        here.page.locator("label[title^='Switch']:visible").click()

    light = colours()
    toggle()
    dark = colours()
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    here.page.locator(".mm-wake").first.click()
    expect(here.page.locator(".mm-wake").first).to_have_text("Interactive: point at a mark")
    assert colours() == dark
    toggle()
    assert colours() == light


def test_hostile_names_do_nothing_in_pages_drawings_notes_and_search(visit: Open) -> None:
    """A dialogue would be noted as a complaint; the texts are seen as they are."""
    here = visit()
    here.go("workloads/hostile/")
    here.page.locator(".mm-wake").first.click()
    expect(here.page.locator(".mm-wake").first).to_have_text("Interactive: point at a mark")
    drawing(here.page).locator(".mark-rect path").first.hover()
    expect(here.page.locator(".mm-tip")).to_contain_text("alert(1)")
    assert here.page.locator("img[src='x'], .mm-tip img, article script").count() == 0
    here.page.locator("input.md-search__input").click()
    here.page.keyboard.type("onerror")
    expect(here.page.locator(".md-search-result__meta")).to_contain_text("matching document")
    assert here.page.locator("img[src='x']").count() == 0


def test_the_policy_stops_what_is_not_ours(visit: Open) -> None:
    """An injected inline script does not run, and text is not evaluated, not even after vega has loaded."""
    here = visit()
    here.go("chips/apple-m1/")
    here.page.locator(".mm-wake").first.click()
    expect(here.page.locator(".mm-wake").first).to_have_text("Interactive: point at a mark")
    # The eval ban is lifted inside `evaluate` itself, so the attempt is made later, from the page's own queue.
    here.page.evaluate(
        """() => {
          const script = document.createElement("script");
          script.textContent = "document.title = 'injected'";
          document.body.append(script);
          setTimeout(() => { try { eval("1"); document.body.dataset.eval = "ran" }
                             catch { document.body.dataset.eval = "refused" } }, 0);
        }"""
    )
    expect(here.page.locator("body")).to_have_attribute("data-eval", "refused")
    assert here.page.title() != "injected"
    assert any("Content Security Policy" in text for text in here.complaints)
    here.complaints.clear()


def test_code_blocks_have_different_names(visit: Open) -> None:
    """The theme gives the same label to the buttons of every code block."""
    here = visit()
    here.go("")
    expect(here.page.locator("nav.md-code__nav").first).to_have_attribute("aria-label", "Code 1")


def test_charts_live_after_an_instant_navigation(
    visit: Open, facts: Facts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a published address the theme swaps pages without loading them, and the charts still wake."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    monkeypatch.setenv("METALMARK_SITE", f"http://127.0.0.1:{port}/")
    small = Facts(results=facts.results, runs=facts.runs, workloads=facts.workloads, chips=facts.chips[:4])
    report = build_site(small, tmp_path)
    with served(report.out / "html", port) as site:
        here = visit(site)
        here.go("")
        here.page.evaluate("window.stays = true")
        here.page.get_by_role("link", name="Chips", exact=True).first.click()
        here.page.get_by_role("link", name="Apple M1", exact=True).click()
        here.page.wait_for_url("**/chips/apple-m1/")
        expect(here.page.locator("h1")).to_contain_text("Apple M1")
        assert here.page.evaluate("window.stays === true")
        here.page.locator(".mm-wake").first.click()
        expect(here.page.locator(".mm-wake").first).to_have_text("Interactive: point at a mark")
        here.page.context.close()
