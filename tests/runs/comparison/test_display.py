"""What a terminal shows of a comparison."""

from comparing import failed, found, run

from xnas.runs.comparison.display import CompareProgress


def test_runs_are_lines(capsys):
    comparison = found(run("xnas"), failed("darts"))
    with CompareProgress(quiet=False) as shown:
        shown.begin(comparison, left=2)
        shown.after_run(comparison.runs[0], comparison)
        shown.after_run(comparison.runs[1], comparison)
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "comparing xnas, darts by true accuracy, 1 seed each: 2 runs, 2 to do"
    assert told[-2] == "2/2  xnas, seed 0 on digits, darts: 90.00 % in 1.5 min"
    assert told[-1] == "2/2  darts, seed 0 on digits, darts: failed: the loss is nan"


def test_a_quiet_one_shows_nothing(capsys):
    comparison = found(run("xnas"), failed("darts"))
    with CompareProgress(quiet=True) as shown:
        shown.begin(comparison, left=2)
    assert capsys.readouterr().out == ""
