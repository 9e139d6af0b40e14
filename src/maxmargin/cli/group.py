"""How every command ends: an exit code, and never a traceback unless ``--debug`` asks for it.

0 yes or done, 1 a negative verdict, 2 bad usage or bad input, 130 Ctrl-C. An error is one line on
standard error. A reader that has seen enough (``| head``) is no error.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from typing import Any

import click

BAD, INTERRUPTED = 2, 130


class Command(click.Command):
    """A command that returns its exit code (None is 0), with an option to show tracebacks."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        debug = click.Option(["--debug"], is_flag=True, help="Show the traceback of an error.")
        self.params.append(debug)

    def invoke(self, ctx: click.Context) -> Any:
        """Do the work, and end with its exit code."""
        debug = ctx.params.pop("debug", False)
        try:
            code = super().invoke(ctx) or 0
            sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit, click.Abort, SystemExit):
            raise
        except KeyboardInterrupt:
            if debug:
                traceback.print_exc()
            click.echo("Interrupted.", err=True)
            code = INTERRUPTED
        except BrokenPipeError:
            _close_quietly()
            code = 0
        except Exception as error:
            if debug:
                traceback.print_exc()
            click.echo(f"Error: {_sentence(error)}", err=True)
            code = BAD
        ctx.exit(code)


class Group(click.Group):
    """A family of commands; bad usage is one line too."""

    command_class = Command

    def main(  # type: ignore[override]
        self, args: Any = None, standalone_mode: bool = True, **options: Any
    ) -> Any:
        """Run the command line and exit."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **options)
        sys.exit(self._run(args, **options))

    def _run(self, args: Any, **options: Any) -> int:
        try:
            code = super().main(args, standalone_mode=False, **options)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            return BAD
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "maxmargin"
            said = _one_line(error.format_message())
            said += "" if said.endswith((".", "?")) else "."
            click.echo(f"Error: {said} See {path} --help.", err=True)
            return BAD
        except click.ClickException as error:
            click.echo(f"Error: {_one_line(error.format_message())}", err=True)
            return BAD
        except click.Abort:
            return INTERRUPTED
        return code if isinstance(code, int) else 0


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _sentence(error: Exception) -> str:
    """What went wrong, in one line, and what to do with the options of the command."""
    said = _one_line(str(error))
    if _is_expected(error):
        return _one_line(_spoken(error)) if hasattr(error, "message") else said
    if isinstance(error, MemoryError):
        return "there is not enough memory. Name a smaller file, or close other programs."
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        return f"{named}{error.strerror or said}. Name another file or folder."
    bug = "This is a bug in maxmargin: run again with --debug, and report what it says."
    return f"{type(error).__name__}: {said.removesuffix('.')}. {bug}"


def _spoken(error: Any) -> str:
    from maxmargin.cli.output import spoken

    return spoken(error.message)


def _is_expected(error: Exception) -> bool:
    """Whether it was raised on purpose: by this package, or by scikit-learn of what it was given."""
    ours = sys.modules.get("maxmargin.core.errors")
    if ours is not None and isinstance(error, ours.MaxMarginError):
        return True
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    module = "" if last is None else str(last.tb_frame.f_globals.get("__name__", ""))
    return isinstance(error, ValueError) and module.partition(".")[0] == "sklearn"


def _close_quietly() -> None:
    """Nobody reads on: what is left goes nowhere, also when Python flushes at the end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
