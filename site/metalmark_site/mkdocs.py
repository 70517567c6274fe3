"""Runs MkDocs over the pages, with a copy of the project's configuration that knows the folders by heart."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from metalmark_db import addresses

from .data import data
from .errors import SiteProblem

MARK = "# Written by `metalmark build`; do not edit."


def write_config(path: Path, pages: Path, html: Path) -> None:
    """A copy of mkdocs.yml with absolute folders and the addresses that are known, at ``path``."""
    config: dict[str, Any] = yaml.safe_load(data("mkdocs.yml").read_text(encoding="utf-8"))
    config |= {"docs_dir": str(pages.resolve()), "site_dir": str(html.resolve())}
    config["validation"]["nav"]["not_found"] = "warn"  # here every page exists
    if site := addresses.site():
        config["site_url"] = site
    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=120)
    path.write_text(f"{MARK}\n{text}", encoding="utf-8", newline="\n")


def run_mkdocs(config: Path) -> None:
    """Nothing; the pages of the configuration are HTML afterwards.

    Raises:
        SiteProblem: MkDocs warned or failed, with its own words.
    """
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config)]
    # From the folder of the pages: a folder named `site` beside the working directory would be in the way.
    done = subprocess.run(
        command, cwd=config.parent, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        raise SiteProblem(f"MkDocs could not build the pages.\n{(done.stderr or done.stdout).strip()[-2000:]}")
