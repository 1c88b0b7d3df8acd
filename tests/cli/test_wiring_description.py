"""`xnas show` and `xnas train` of a wiring, by name and by file."""

from pathlib import Path

import pytest
from commands import call

from xnas import Wiring

SAMPLE = Path(__file__).parents[1] / "samples" / "wiring-v1.json"


def test_a_wiring_is_shown_by_file_with_its_graphs_and_what_its_networks_count(capsys, tmp_path):
    status, out, err = call(capsys, "show", SAMPLE, "--svg", tmp_path / "wiring.svg")
    assert (status, err) == (0, "")
    assert out.startswith(f"{SAMPLE}, the wiring WS(4, 0.75), seed 2\n\nstage 1: 8 nodes, 16 edges")
    rows = [line.split() for line in out.splitlines()]
    assert ["network", "channels", "stages", "pixels", "parameters", "MACs"] in rows
    assert [row[:3] for row in rows[-4:-1]][1:] == [["cifar", "32", "3"], ["imagenet", "78", "3"]]
    assert out.endswith(f"drawn in {tmp_path / 'wiring.svg'}\n")
    assert b"<svg" in (tmp_path / "wiring.svg").read_bytes()


def test_ba_is_shown_by_name_with_the_known_parameters(capsys):
    _, out, _ = call(capsys, "show", "ba-5-0")
    assert out.startswith("ba-5-0, the wiring BA(5), seed 0\n\nstage 1: 32 nodes, 135 edges")
    assert "5,677,900" in out


@pytest.mark.parametrize("name", [None, pytest.param("ws-4-0.75-1", marks=pytest.mark.slow)])
def test_a_wiring_is_trained_and_shown_by_its_run(capsys, tmp_path, name):
    wiring = Wiring.named(name) if name else Wiring.random("ba", 1, seed=7, nodes=(3, 3, 3))
    wiring.save(tmp_path / "mine.json")
    small = ("--channels", 2, "--epochs", 1, "--batch-size", 512, "--device", "cpu")
    run, cell = tmp_path / "run", name or tmp_path / "mine.json"
    status, out, err = call(capsys, "train", cell, "digits", "--out", run, *small)
    assert (status, err) == (0, "")
    assert f"chosen: the network of {wiring.origin}: no auxiliary tower" in out
    assert Wiring.load(run / "wiring.json") == wiring
    _, out, _ = call(capsys, "show", run)
    assert out.startswith(f"{run / 'wiring.json'}, {wiring.origin}\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "ws-4-0"), "no wiring is called 'ws-4-0': ws takes neighbours and chance, got 4"),
        (("show", "ws-4-0.75-0", "--truth", "x.csv"), "and ws-4-0.75-0 is a wiring; leave it out"),
        (("train", "ws-4-0.75-0", "--cells", "2"), "cells must be at least 3, got 2"),
        (("train", "ws-4-0.75-0", "digits", "--cells", "5"), "no cells to set, got 5; its cells are"),
        (("train", "er-0.01-0", "digits"), "none of 1,000 graphs of 32 nodes"),
    ],
)
def test_errors_are_one_line(capsys, monkeypatch, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    status, _, err = call(capsys, *arguments)
    assert status == 2
    assert words in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())
