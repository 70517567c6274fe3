"""The real browser of the tests: the system's where there is one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tools.terminal import program, quietly, stop

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge")
MAC_APPS = ("Google Chrome", "Chromium", "Microsoft Edge")
NO_BROWSER = """\
Some tests open the built pages in a real browser; none was found, and none could be installed. Install Chromium, Google
Chrome or Microsoft Edge (Debian: `apt install chromium`; a Mac: the browser's own installer) and give the same command
again."""


def find_browser() -> str | None:
    """The path of an installed Chromium, Chrome or Edge; None where Playwright's own has to do."""
    for name in COMMANDS:
        if path := shutil.which(name):
            return path
    for folder in (Path("/Applications"), Path.home() / "Applications"):
        for name in MAC_APPS:
            app = folder / f"{name}.app" / "Contents" / "MacOS" / name
            if app.exists():
                return str(app)
    return None


def set_up_browser() -> None:
    """Sees to a browser: the system's, else Debian's package, else Playwright's own."""
    if find_browser():
        return
    print("Installing a browser for the tests that open pages.", flush=True)
    apt = shutil.which("apt-get") if os.geteuid() == 0 else None
    if apt:
        get = [apt, "install", "--yes", "--no-install-recommends", "chromium"]
        if quietly(get) and not quietly([apt, "update"]):  # an image may come without package lists
            quietly(get)
        if find_browser():  # Ubuntu's package of this name is only a pointer
            return
    more = ["--with-deps"] if apt else []
    if code := quietly([program("python"), "-m", "playwright", "install", *more, "chromium"]):
        stop(NO_BROWSER, code)
