"""The files for readers."""

from comparing import failed, found, run

from xnas.runs.comparison.outputs import write_outputs


def test_a_comparison_without_a_result_has_no_figure(tmp_path):
    write_outputs(tmp_path, found(failed("xnas"), failed("darts")))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("comparison.csv", "comparison.md", "comparison.tex", "runs.csv")
    ]
    assert "the loss is nan" in (tmp_path / "comparison.md").read_text()


def test_files_are_written_anew(tmp_path):
    write_outputs(tmp_path, found(failed("xnas"), failed("darts")))
    write_outputs(tmp_path, found(run("xnas"), run("darts")))
    assert "nan" not in (tmp_path / "comparison.md").read_text()
    figures = {path.name for path in (tmp_path / "figures").iterdir()}
    assert figures == {
        f"{name}.{end}" for name in ("accuracy", "results") for end in ("svg", "png", "pdf")
    }
