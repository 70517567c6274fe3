"""The program: a table of commands, each imported only when it is called."""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
import typer.core

from .errors import MetalmarkError

# name -> (where the function lives, one line for --help). Names only: no arrow is drawn to the
# neighbours, and `metalmark --help` imports none of them.
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("metalmark_collector.commands.run:run", "Measure this machine and store the results."),
    "workloads": ("metalmark_collector.commands.workloads:workloads", "List what is measured, with sizes and sources."),
    "doctor": ("metalmark_collector.commands.doctor:doctor", "Say whether this machine can be measured well."),
    "fingerprint": ("metalmark_collector.commands.fingerprint:fingerprint", "Show what is known of this machine."),
    "explain": ("metalmark_collector.commands.explain:explain", "Say what an error text means and what helps."),
    "show": ("metalmark_db.commands.show:show", "Show a stored run."),
    "compare": ("metalmark_db.commands.compare:compare_command", "Compare chips, machines or runs, like with like."),
    "standing": (
        "metalmark_db.commands.standing:standing_command",
        "Show where a run stands among all known machines.",
    ),
    "ingest": ("metalmark_db.commands.ingest:ingest_command", "Put documents of runs into the database."),
    "export": ("metalmark_db.commands.export:export_command", "Write the database as CSV, JSON, Parquet or SQLite."),
    "query": ("metalmark_db.commands.query:query", "Ask the database in SQL, read-only."),
    "forget-reporter": (
        "metalmark_db.commands.forget_reporter:forget_reporter",
        "Give this computer a new reporter value.",
    ),
    "build": ("metalmark_site.commands.build:build", "Build the site from the database."),
    "serve": ("metalmark_site.commands.serve:serve", "Show the built site in the browser."),
}
_EPILOG = "Start with: metalmark run. Then: metalmark build, metalmark serve."
_INTERRUPTED = 130


class Commands(typer.core.TyperGroup):
    """The group of commands: lists them by the table, and loads the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: typer.core.TyperCommand(name, help=line) for name, (_, line) in COMMANDS.items()}

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - click's signature
        """Names in the order of the table, which is the order of use."""
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The called command itself, in place of the stand-in that carries its line for --help."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, _load(name) if name in COMMANDS else command, rest


def _load(name: str) -> Any:
    module, _, function = COMMANDS[name][0].partition(":")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name)(getattr(importlib.import_module(module), function))
    command = typer.main.get_command(app)
    command.name = name
    return command


def _version(value: bool) -> None:
    if value:
        from .addresses import version  # noqa: PLC0415 - importlib.metadata is slow and rarely needed

        typer.echo(f"metalmark {version() or 'from an uninstalled tree'}")
        raise typer.Exit


def _program() -> Any:
    app = typer.Typer(
        cls=Commands, add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, epilog=_EPILOG
    )

    @app.callback(help="Metalmark: what PyTorch does on this machine, measured so that the number is true.")
    def main_options(
        _show: bool = typer.Option(
            False, "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
        _debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
    ) -> None:
        """Options that stand before the command."""

    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program; the only place where errors become text and an exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _settle_streams()
    debug = "--debug" in given
    given = [argument for argument in given if argument != "--debug"]
    try:
        code = _program()(given, prog_name="metalmark", standalone_mode=True)
    except MetalmarkError as problem:
        if debug:
            raise
        _say(f"metalmark: {problem}")
        code = problem.exit_code
    except KeyboardInterrupt:
        _say("metalmark: interrupted.")
        code = _INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has seen enough; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        if debug:
            raise
        _say(f"metalmark: the system refused: {error}. Check that the place exists, may be written to and has room.")
        code = 74
    except Exception as error:
        if debug:
            raise
        _say(
            f"metalmark: something went wrong that should not have: {type(error).__name__}: {error}. "
            "Run the same command with --debug to see where, and report that text."
        )
        code = 70
    sys.exit(code)


def _settle_streams() -> None:
    """Streams that take any text: what a terminal's encoding lacks becomes a question mark; a closed one is nowhere."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - as long as the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
