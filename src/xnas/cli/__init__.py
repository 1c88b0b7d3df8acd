"""The command line: `xnas COMMAND`, or `python -m xnas COMMAND`.

Flags, their help and their defaults come from the options that a command takes. A command's module is
imported when the command is called, as torch takes seconds: `xnas --help` does without it. An error that
a user can act upon is one line on stderr and exit status 2; `--debug` shows the traceback.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from cyclopts import App, ArgumentCollection, CoercionError, CycloptsError

from xnas import __version__
from xnas.cli.usage_errors import usage_message
from xnas.errors import ConfigError, XnasError
from xnas.process.interrupt import unwound_by_signals
from xnas.process.output import OutputClosedError, guarded_streams
from xnas.words import printable

if TYPE_CHECKING:
    from rich.console import Console

COMMANDS = {
    "fit": (
        "Get the best network for your images within a time budget.",
        "Searches, trains, compares with baselines, tests the best once and exports it.",
        "xnas fit photos/ --minutes 30",
    ),
    "search": (
        "Find a network cell that suits your images.",
        "The result is a genotype (a description of the cell); train its network: `xnas train RUN`.",
        "xnas search photos/ --out runs/photos",
    ),
    "train": (
        "Train a network made of a cell, and test it once at the end.",
        "The cell is one that a search found, or a published one.",
        "xnas train runs/photos --recipe quick",
    ),
    "sample": (
        "Find a cell by sampling complete cells and evaluating each.",
        "Random search, evolution or others. Each cell is trained, or looked up in a benchmark.",
        "xnas sample photos/ --sampler evolution --evaluations 50",
    ),
    "evaluate": (
        "Measure a trained network on test images.",
        "Prints error, accuracy per class and calibration, and draws the confusions.",
        "xnas evaluate runs/train-photos-1",
    ),
    "predict": (
        "Classify images with a trained network.",
        "Prints one line per image: its path, its class, the probability, and the runners-up.",
        "xnas predict runs/train-photos-1 cat.jpg --top 3",
    ),
    "export": (
        "Export a trained network as ONNX and torch.export files.",
        "Each file is checked against PyTorch's answers.",
        "xnas export runs/train-photos-1 --out exported",
    ),
    "compare": (
        "Compare methods and samplers with several seeds.",
        "Prints a table of means and spreads, and which differences are significant.",
        "xnas compare --methods xnas,darts,random --space nasbench201 --truth cells.csv --seeds 0-4",
    ),
    "runs": (
        "List the runs in a folder.",
        "What each is, its state, its data, what it found, and the next command.",
        "xnas runs --json",
    ),
    "show": (
        "Draw a cell in the terminal, with its depth and the sizes of its networks.",
        "xnas show --zoo lists the published cells.",
        "xnas show darts_v2 --svg cell.svg",
    ),
    "report": (
        "Write the HTML report of a run: what was found, how good it is, how it came about.",
        "One self-contained file; search, train, sample, fit and compare write it as well.",
        "xnas report runs/photos --open",
    ),
    "methods": (
        "List the search methods, or describe one.",
        "With a name: its rule, its recipe, how it departs from its paper, and published results.",
        "xnas methods gaea",
    ),
    "data": (
        "List datasets, or check one of them or a folder of images.",
        "Says where a dataset is, whether it is whole, and how to get it.",
        "xnas data photos/",
    ),
    "reproduce": (
        "Make the paper's figures and tables, and check its claims.",
        "",
        "xnas reproduce table-1 --out paper",
    ),
    "bench": ("Measure the speed of each part on this machine.", "", "xnas bench search"),
}
"""Summary, more about it, and an example of each command."""


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
    help="Find, train and export convolutional networks for your images: neural architecture search by "
    "XNAS (Nayman et al., 2019; called the paper here) and by other methods.",
    help_epilogue="Every command takes --debug, which shows the traceback of an error.",
    version=__version__,
    config=_refuse_fractions,
    suppress_keyboard_interrupt=False,
)
for _name, (_summary, _more, _example) in COMMANDS.items():
    _parts = (_summary, _more, f"Example: `{_example}`")
    app.command(
        f"xnas.cli.{_name}:{_name}",
        name=_name,
        help="\n\n".join(filter(None, _parts)),
        sort_key=list(COMMANDS).index(_name),
    )
app.command(
    "xnas.cli.completion:install_completion",
    name="--install-completion",
    help="Let your shell complete commands and options after Tab.",
    sort_key=len(COMMANDS),
)


@guarded_streams()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; exit with 2 for an error that the user can act upon, 130 when interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    try:
        if "" in given:  # as a path it would mean the current folder
            raise ConfigError("an argument is empty; give a value: a variable of the shell may be unset")
        words = [_at_home(word) for word in given if word != "--debug"]
        with unwound_by_signals():
            app(
                words,
                console=_console(),
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
        message = usage_message(error) if isinstance(error, CycloptsError) else str(error)
        sys.exit(_complain(message))
    except (MemoryError, RuntimeError) as error:
        from xnas.process.failures import failure  # noqa: PLC0415 - imports torch

        cause = failure(error)
        if debug or cause is None:
            raise
        sys.exit(_complain(cause))
    except KeyboardInterrupt as stop:
        if _speaks():
            print(f"xnas: {printable(stop) or 'interrupted'}", file=sys.stderr)
        sys.exit(130)


def _console() -> Console | None:
    """Where help is printed: for `NO_COLOR` without colours and bold letters; else cyclopts's own."""
    if not os.environ.get("NO_COLOR"):
        return None
    from rich.console import Console  # noqa: PLC0415 - only help needs it

    return Console(color_system=None)


def _at_home(word: str) -> str:
    """An argument with its leading `~`, or that of `--out=~/runs`, as a shell expands the former."""
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return option + equals + os.path.expanduser(value)  # noqa: PTH111 - it need not be a path


def _complain(message: str) -> int:
    """Print one line, whatever the names in it, and return the exit status."""
    line = printable(" ".join(message.split()))
    who = "xnas" if _speaks() else f"xnas (rank {os.environ['RANK']})"
    print(f"{who}: {line}", file=sys.stderr)
    return 2


def _speaks() -> bool:
    """Whether this process prints for the user; of several started by torchrun, the first does."""
    if "RANK" not in os.environ:
        return True
    from xnas.engine.distributed import speaks  # noqa: PLC0415 - imports torch

    return speaks()
