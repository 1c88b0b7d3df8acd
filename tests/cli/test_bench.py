"""`xnas bench` prints a table, and on standard error how far it is."""

from commands import call


def test_bench_theory_prints_a_table(capsys, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "xnas.runs.progress.RunProgress.advance", lambda _, done, total: seen.append((done, total))
    )
    status, out, err = call(capsys, "bench", "theory", "--mixtures", "1", "--repetitions", "3")
    assert (status, err) == (0, "")
    assert out.splitlines()[0].startswith("one step of")
    assert len(out.splitlines()) == 6
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]  # one step to warm up and three repetitions
