"""The command `xnas`, which is also `python -m xnas`.

Signals are heeded before anything else is imported: torch takes seconds.
"""

from xnas.runs.interrupt import heed_signals


def main() -> None:
    """Run the command that was typed."""
    heed_signals()
    from xnas.cli import main as command  # noqa: PLC0415 - see above

    command()


if __name__ == "__main__":
    main()
