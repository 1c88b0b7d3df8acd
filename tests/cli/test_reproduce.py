"""The command reproduce."""

from commands import call as run


def test_reproduce_reports_what_it_made(capsys, tmp_path):
    status, out, err = run(capsys, "reproduce", "attenuation", "--out", str(tmp_path / "x"))
    assert (status, err) == (0, "")
    assert out.startswith("attenuation  1 figure in")
    assert out.endswith(f"2 claims judged in {tmp_path / 'x' / 'claims.md'}\n")
    assert (tmp_path / "x" / "attenuation.svg").exists()


def test_quiet_says_nothing(capsys, tmp_path):
    assert run(capsys, "reproduce", "attenuation", "--quiet", "--out", str(tmp_path / "x")) == (
        0,
        "",
        "",
    )
