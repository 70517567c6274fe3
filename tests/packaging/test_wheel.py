"""The wheel: installed without the checkout into an empty environment in another folder, and used there."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow

# Notes every file and program that Python touches inside the checkout; the path comes in through the environment.
WATCH = """
import os, sys
checkout, log = os.environ["WATCHED_CHECKOUT"], os.environ["WATCHED_LOG"]
watched = ("open", "os.listdir", "os.scandir", "subprocess.Popen", "sqlite3.connect")
def watch(event, arguments):
    if event in watched and checkout in repr(arguments[:3]): # of a program: name, words, folder
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "a") as file:
            file.write(f"{event} {arguments!r}\\n")
sys.addaudithook(watch)
"""


class Elsewhere:
    """An empty environment in another folder, with the wheel and the extra `site` in it, but without torch."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder, self.log = folder, folder / "touched.txt"
        must([sys.executable, "-m", "venv", "venv"], folder)
        must(["venv/bin/python", "-m", "pip", "install", "--quiet", f"metalmark[site] @ {wheel.as_uri()}"], folder)
        packages = next((folder / "venv" / "lib").glob("python*/site-packages"))
        (packages / "sitecustomize.py").write_text(WATCH)

    def metalmark(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What the installed program says to these words, with an empty home and no checkout in sight."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("METALMARK_", "PYTHON", "PWD"))
        }
        home = str(self.folder / "home")
        watched = {"WATCHED_CHECKOUT": str(ROOT), "WATCHED_LOG": str(self.log)}
        environment = {**kept, "HOME": home, "XDG_DATA_HOME": f"{home}/data", "XDG_CACHE_HOME": f"{home}/cache"}
        return subprocess.run(
            [self.folder / "venv" / "bin" / "metalmark", *words],
            cwd=self.folder,
            env={**environment, **watched},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )


def must(command: list[str], folder: Path) -> None:
    """Runs a step that has to succeed, and shows what it said where it does not."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution, so that this one is proved complete too."""
    folder = tmp_path_factory.mktemp("wheel")
    must([sys.executable, "-m", "build", "--outdir", str(folder)], ROOT)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    """The installed program."""
    return Elsewhere(tmp_path_factory.mktemp("elsewhere"), wheel)


def test_the_wheel_holds_what_lies_outside_the_packages_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for start in ("metalmark_site/_data/templates/", "metalmark_site/_data/pages/", "metalmark_site/_data/assets/"):
        assert [name for name in names if name.startswith(start)]
    assert {"metalmark_site/_data/mkdocs.yml", "metalmark_db/_data/published/sources.json"} <= set(names)
    assert {name.split("/")[0].split("-")[0] for name in names} <= {
        "metalmark",
        "metalmark_collector",
        "metalmark_db",
        "metalmark_site",
    }


def test_the_program_says_what_it_can_do(elsewhere: Elsewhere) -> None:
    done = elsewhere.metalmark("--help")
    assert done.returncode == 0, done.stderr
    assert "query" in done.stdout


def test_a_query_finds_the_published_figures(elsewhere: Elsewhere) -> None:
    done = elsewhere.metalmark("query", "--csv", "select count(*) as figures from published")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["figures", "4761"]


def test_the_site_of_an_empty_database_is_built_into_the_folder_where_one_stands(elsewhere: Elsewhere) -> None:
    done = elsewhere.metalmark("build")
    assert done.returncode == 0, done.stdout + done.stderr
    home = (elsewhere.folder / "build" / "html" / "index.html").read_text()
    assert "<svg" in home
    assert "Content-Security-Policy" in home


def test_measuring_without_torch_says_what_to_install(elsewhere: Elsewhere) -> None:
    done = elsewhere.metalmark("run", "--effort", "quick")
    assert done.returncode != 0
    assert "metalmark[bench]" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_no_file_of_the_checkout_was_touched(elsewhere: Elsewhere) -> None:
    """Comes last: the watch that is in the environment since its making has seen the commands above."""
    touched = elsewhere.log.read_text() if elsewhere.log.exists() else ""
    assert touched == ""
