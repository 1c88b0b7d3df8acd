"""The command `xnas`, which is also `python -m xnas`.

Signals are heeded before anything else is imported, as torch takes seconds, and streams that were closed
are opened before a file takes their descriptors.
"""

from xnas.process.interrupt import heed_signals
from xnas.process.output import open_missing_streams


def main() -> None:
    """Run the command that was typed."""
    heed_signals()
    open_missing_streams()
    from xnas.cli import main as command  # noqa: PLC0415 - see above

    command()


if __name__ == "__main__":
    main()
