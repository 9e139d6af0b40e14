"""``maxmargin``: one command, one family of subcommands.

Results go to standard output, progress to standard error. Exit codes: 0 yes or done, 1 a negative
verdict, 2 bad usage or bad input.
"""

from __future__ import annotations

import click

from maxmargin._version import __version__

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="maxmargin")
def main() -> None:
    """The linear classifier that comes with its proof."""


@main.command()
@click.option("--quick", is_flag=True, help="Leave out the larger part (digits).")
def demo(quick: bool) -> None:
    """Tell the story of linear classification on data that ships with scikit-learn."""
    from maxmargin.cli.demo import run  # imported on use, so that --help is instant

    run(quick)
