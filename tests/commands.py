"""Commands called in this process."""

from xnas.cli import main


def call(capsys, *arguments):
    """Exit status, stdout and stderr of `xnas ARGUMENTS`."""
    status = 0
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as exit_:
        status = exit_.code or 0
    captured = capsys.readouterr()
    return status, captured.out, captured.err
