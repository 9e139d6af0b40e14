"""``maxmargin``: one command, one family of subcommands.

Results go to standard output, progress to standard error. Exit codes: 0 yes or done, 1 a negative
verdict, 2 bad usage or bad input, 130 Ctrl-C. Nothing heavy is imported before there is work.
"""

from __future__ import annotations

import click

from maxmargin._version import __version__
from maxmargin.cli import commands
from maxmargin.cli.group import Group

EPILOG = """\
DATA is svmlight text (.svm, .txt, …), a table (.csv, .tsv), .parquet, .arrow, .feather, .npy or .npz;
text also in .gz; - is standard input. Results go to standard output, all else to standard error.

Exit codes: 0 yes or done, 1 a negative verdict, 2 bad usage or bad input.

\b
Completion of commands, options and files with the Tab key:
  bash   eval "$(_MAXMARGIN_COMPLETE=bash_source maxmargin)"
  zsh    eval "$(_MAXMARGIN_COMPLETE=zsh_source maxmargin)"
  fish   _MAXMARGIN_COMPLETE=fish_source maxmargin | source
"""


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(__version__, prog_name="maxmargin")
def main() -> None:
    """The linear classifier that comes with its proof."""


for name in commands.__all__:
    main.add_command(getattr(commands, name))
