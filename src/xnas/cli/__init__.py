"""The command line: `xnas COMMAND`, or `python -m xnas COMMAND`.

Flags, their help and their defaults come from the config dataclasses. An error that a user can act upon
is one line on stderr and exit status 2; `--debug` shows the traceback.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from reprlib import repr as brief
from typing import Literal, get_args, get_origin

from cyclopts import App, ArgumentCollection, CoercionError, CycloptsError, UnusedCliTokensError

from xnas import __version__
from xnas.cli.bench import bench
from xnas.cli.data import data
from xnas.cli.evaluate import evaluate
from xnas.cli.export import export
from xnas.cli.predict import predict
from xnas.cli.reproduce import reproduce
from xnas.cli.search import search
from xnas.cli.show import show
from xnas.cli.train import train
from xnas.engine.distributed import speaks
from xnas.errors import ConfigError, XnasError
from xnas.options import kinds_in_words
from xnas.process.failures import failure
from xnas.process.interrupt import unwound_by_signals
from xnas.process.output import OutputClosedError, guarded_streams
from xnas.words import printable


def _refuse_fractions(_app: App, _commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Raise for 1.5 where a whole number belongs: cyclopts would round it."""
    for argument in arguments:
        if int in (argument.hint, *get_args(argument.hint)):
            for token in argument.tokens:
                if _is_fraction(token.value):
                    raise CoercionError(token=token, argument=argument, target_type=int)


def _is_fraction(text: str) -> bool:
    try:
        return "." in text and not float(text).is_integer()
    except ValueError:  # no number at all, which cyclopts refuses
        return False


app = App(
    name="xnas",
    help="Neural architecture search with expert advice.",
    help_epilogue="Every command takes --debug, which shows the traceback of an error.",
    version=__version__,
    config=_refuse_fractions,
    suppress_keyboard_interrupt=False,
)
app.command(search)
app.command(train)
app.command(evaluate)
app.command(predict)
app.command(export)
app.command(show)
app.command(data)
app.command(reproduce)
app.command(bench)


@guarded_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; exit with 2 for an error that the user can act upon, 130 when interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    try:
        if "" in given:  # as a path it would mean the folder at hand
            raise ConfigError("an argument is empty; give a value: a variable of the shell may be unset")
        words = [_at_home(word) for word in given if word != "--debug"]
        with unwound_by_signals():
            app(
                words,
                exit_on_error=False,
                print_error=False,
                result_action="return_none",
            )
        sys.stdout.flush()
    except OutputClosedError:  # as with `| head`, which has had enough
        sys.exit(0)
    except (CycloptsError, XnasError) as error:
        if debug:
            raise
        sys.exit(_complain(_told(error)))
    except (MemoryError, RuntimeError) as error:
        told = failure(error)
        if debug or told is None:
            raise
        sys.exit(_complain(told))
    except KeyboardInterrupt as stop:
        if speaks():
            print(f"xnas: {printable(stop) or 'interrupted'}", file=sys.stderr)
        sys.exit(130)


def _at_home(word: str) -> str:
    """An argument with its leading `~`, or that of `--out=~/runs`, as a shell expands the former."""
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return option + equals + os.path.expanduser(value)  # noqa: PTH111 - it need not be a path


def _told(error: CycloptsError | XnasError) -> str:
    if not isinstance(error, CycloptsError):
        return str(error)
    look = f"see {' '.join(('xnas', *(error.command_chain or ())))} --help"
    if isinstance(error, UnusedCliTokensError):
        extra = ", ".join(map(repr, error.unused_tokens or ()))
        return f"nothing takes the argument {extra}; leave it out, or {look}"
    if isinstance(error, CoercionError) and error.token and get_origin(error.target_type) is not Literal:
        wanted = kinds_in_words(error.target_type).removesuffix(" or None")
        return f"{error.token.keyword} must be {wanted}, got {brief(error.token.value)}; {look}"
    told = re.sub(r"(?<!\.)\.$", "", str(error))  # a full stop, but not the dots after a list
    return f"{told} Or {look}" if told.endswith("?") else f"{told}; {look}"


def _complain(message: str) -> int:
    """Print one line, whatever the names in it, and return the exit status."""
    line = printable(" ".join(message.split()))
    who = "xnas" if speaks() else f"xnas (rank {os.environ['RANK']})"
    print(f"{who}: {line}", file=sys.stderr)
    return 2
