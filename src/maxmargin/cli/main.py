"""``maxmargin``: one program, its subcommands in the files of this folder, and how each of them ends.

Exit codes: 0 yes or done, 1 a negative verdict, 2 bad usage or bad input, 3 time was over before the
verdict, 130 Ctrl-C. An error is one line on standard error; ``--debug`` adds its traceback. A reader
that has seen enough (``| head``) is no error.

Help and completion load nothing heavy: a command imports what its work needs when it runs.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import click

from maxmargin._version import __version__
from maxmargin.cli.audit import audit
from maxmargin.cli.demo import demo
from maxmargin.cli.errors import errors
from maxmargin.cli.fit import fit
from maxmargin.cli.lab import lab
from maxmargin.cli.plot import plot
from maxmargin.cli.predict import predict
from maxmargin.cli.report import report
from maxmargin.cli.separable import separable, verify
from maxmargin.cli.stream import stream

EXIT_BAD_INPUT, EXIT_INTERRUPTED = 2, 130

EPILOG = """\
DATA is svmlight text (.svm, .txt, …), a table (.csv, .tsv), .parquet, .arrow, .feather, .npy or .npz;
text also in .gz; - is standard input. Results go to standard output, all else to standard error.

Exit codes: 0 yes or done, 1 a negative verdict, 2 bad usage or bad input, 3 no verdict in time.

\b
Completion of commands, options and files with the Tab key:
  bash   eval "$(_MAXMARGIN_COMPLETE=bash_source maxmargin)"
  zsh    eval "$(_MAXMARGIN_COMPLETE=zsh_source maxmargin)"
  fish   _MAXMARGIN_COMPLETE=fish_source maxmargin | source
"""


class Program(click.Group):
    """The group of commands; bad usage is one line."""

    def add_command(self, command: click.Command, name: str | None = None) -> None:
        """Add a command, with ``--debug``, that ends with an exit code."""
        debug = click.Option(["--debug"], is_flag=True, help="Show the traceback of an error.")
        command.params.append(debug)
        assert command.callback is not None
        command.callback = _ending_with_a_code(command.callback)
        super().add_command(command, name)

    def main(  # type: ignore[override]
        self, args: Any = None, standalone_mode: bool = True, **options: Any
    ) -> Any:
        """Run the command line and exit."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **options)
        try:
            code = super().main(args, standalone_mode=False, **options)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            code = EXIT_BAD_INPUT
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "maxmargin"
            message = _one_line(error.format_message())
            message += "" if message.endswith((".", "?")) else "."
            code = _fail(f"{message} See {path} --help.")
        except click.ClickException as error:
            code = _fail(_one_line(error.format_message()))
        except click.Abort:
            code = EXIT_INTERRUPTED
        sys.exit(code if isinstance(code, int) else 0)


def _ending_with_a_code(work: Callable[..., int | None]) -> Callable[..., None]:
    """Return a command's function that exits with the code it returns (None is 0)."""

    @functools.wraps(work)
    def run(*, debug: bool, **given: Any) -> None:
        try:
            code = work(**given) or 0
            sys.stdout.flush()
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:
            _discard_output()
            code = 0
        except (KeyboardInterrupt, Exception) as error:
            if debug:
                traceback.print_exc()
            if isinstance(error, KeyboardInterrupt):
                click.echo("Interrupted.", err=True)
                code = EXIT_INTERRUPTED
            else:
                code = _fail(_message(error))
        click.get_current_context().exit(code)

    return run


def _fail(message: str) -> int:
    click.echo(f"Error: {message}", err=True)
    return EXIT_BAD_INPUT


def _message(error: Exception) -> str:
    """Return what went wrong in one line, and what to do in terms of the command's options."""
    text = _one_line(str(error))
    if _is_expected(error):
        if not hasattr(error, "message"):
            return text
        from maxmargin.cli.output import in_options

        return _one_line(in_options(error.message))
    if isinstance(error, MemoryError):
        return "there is not enough memory. Name a smaller file, or close other programs."
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        return f"{named}{error.strerror or text}. Name another file or folder."
    bug = "This is a bug in maxmargin: run again with --debug, and report what it says."
    return f"{type(error).__name__}: {text.removesuffix('.')}. {bug}"


def _is_expected(error: Exception) -> bool:
    """Whether it was raised on purpose: by this package, or by scikit-learn about its input."""
    ours = sys.modules.get("maxmargin.core.errors")
    if ours is not None and isinstance(error, ours.MaxMarginError):
        return True
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    module = "" if last is None else str(last.tb_frame.f_globals.get("__name__", ""))
    return isinstance(error, ValueError) and module.partition(".")[0] == "sklearn"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _discard_output() -> None:
    """Send what is left to nowhere, also when Python flushes at the end: nobody reads it."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(__version__, prog_name="maxmargin")
def main() -> None:
    """The linear classifier that comes with its proof."""


for command in (fit, predict, separable, errors, verify, audit, plot, report, stream, lab, demo):
    main.add_command(command)
