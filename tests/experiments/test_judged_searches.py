"""Recorded searches judged from a small generated archive, and the results that are kept."""

import io
import json
import os
import tarfile
from pathlib import Path

import darts_cells
import nasbench201
import numpy as np
import pytest

import judged_searches
from edge_rules import read_searches
from judged_searches import DRAWN, INPUTS, looked_at, reward_size
from xnas import Genotype
from xnas.benchmarks import SurrogateBenchmark, TabularBenchmark
from xnas.space import SPACES

pytestmark = pytest.mark.slow  # its searches are read for seconds
ROOT = Path(__file__).parents[2]
NAMES = ("darts_space_records", "warm_searches", "few_searches")
ARCHIVES = [ROOT / "results" / f"{name}.tar.gz" for name in NAMES]
KEPT = ROOT / "results" / "judged_searches.json"
TABLE = Path(
    os.environ.get("XNAS_NASBENCH201", darts_cells.BESIDE.parents[1] / "nasbench201" / "cifar10.csv")
)
needs_the_real_table = pytest.mark.skipif(
    not TABLE.exists(),
    reason="the table of NAS-Bench-201 is neither named by XNAS_NASBENCH201 nor in ../shared",
)
SKIPS = nasbench201.arch(["skip_connect"] * 6)
CONVOLUTIONS = nasbench201.arch(["nor_conv_3x3"] * 6)


def header(epochs, warmup=None, **guards):
    """A header; without `warmup` as older searches wrote it."""
    newer = {} if warmup is None else {"warmup_epochs": warmup, "absence_batches": 4}
    given = {"auto_augment": False, "balance": False, "expert_dropout": None} | guards
    settings = {"epochs": epochs, "skip_dropout": [0.5, 0.5], "expert_dropout": 0.5}
    return {"seed": 1, "guards": given, "settings": settings | {"best_temperature": True} | newer}


def darts_epoch(number, costs):
    draw = np.random.default_rng(number)
    sums, edges = draw.random((14, 7)), draw.random(14).tolist()
    kinds = ("normal", "reduction")
    old = {"absence": {"mixture": dict.fromkeys(kinds, edges), "alone": dict.fromkeys(kinds, edges)}}
    return {
        "epoch": number,
        "rounds": 10,
        "paid": {kind: [sums.tolist(), (2 * sums).tolist()] for kind in kinds},
        "sums": {kind: sums.tolist() for kind in kinds},
        "mixture": {kind: (sums / sums.sum(-1, keepdims=True)).tolist() for kind in kinds},
        "cell": json.loads(Genotype.random("darts", number).to_json()),
        **({"edge_costs": dict.fromkeys(kinds, edges)} if costs else old),
    }


def benchmark_epoch(number, arch):
    return {
        "epoch": number,
        "rounds": 2,
        "paid": {"normal": np.zeros((1, 6, 4)).tolist()},
        "edge_costs": {},
        "cell": json.loads(Genotype.from_arch(arch).to_json()),
    }


def write_archive(path, searches):
    with tarfile.open(path, "w:gz") as archive:
        for name, lines in searches.items():
            text = "".join(json.dumps(line) + "\n" for line in lines).encode()
            info = tarfile.TarInfo(f"{name}.jsonl")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    return path


def few_epochs(skips_from):
    return [benchmark_epoch(n, SKIPS if n >= skips_from else CONVOLUTIONS) for n in range(1, 31)]


SEARCHES = {
    "full-absent-1": [header(6, auto_augment=True), *(darts_epoch(n, False) for n in range(1, 7))],
    "short-warm-1": [header(10, warmup=4), *(darts_epoch(n, True) for n in range(1, 11))],
    "short-candidate-1": [
        header(10, warmup=4, wipeout=True),
        *(darts_epoch(n, True) for n in range(1, 11)),
    ],
    "few-late-1": [header(30, warmup=20, balance=True), *few_epochs(27)],
    "few-early-1": [header(30, warmup=18), *few_epochs(40)],
    "short-begun-1": [header(10, warmup=4)],
    "short-resting-1": [header(10, warmup=4), *(darts_epoch(n, True) for n in range(1, 4))],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    rows = nasbench201.rows()
    for row in rows:
        if row[1] in (SKIPS, CONVOLUTIONS):
            row[3] = {SKIPS: 54.3, CONVOLUTIONS: 93.76}[row[1]]
    archive = write_archive(folder / "records.tar.gz", SEARCHES)
    truth = darts_cells.write_cells(folder / "cells.csv", darts_cells.rows())
    table = nasbench201.write_table(folder / "c10.csv", rows)
    return [str(archive), "--truth", str(truth), "--table", str(table)]


@pytest.fixture(scope="module")
def written(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("found") / "judged_searches.json"
    assert judged_searches.main([*files, "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="module")
def found(written):
    return {search["search"]: search for search in json.loads(written.read_text(encoding="utf8"))}


def test_every_search_that_was_started_has_an_entry(found):
    assert set(found) == set(SEARCHES)
    assert found["short-begun-1"]["played"] == 0
    assert found["short-resting-1"]["played"] == 3
    assert "judged" not in found["short-resting-1"]


def test_guards_are_those_of_the_settings(found):
    old, new, few = (found[name]["guards"] for name in ("full-absent-1", "short-warm-1", "few-late-1"))
    assert (old["expert_dropout"], old["warmup_epochs"], old["edges"]) == (0.5, 0, "share")
    assert (new["best_temperature"], new["warmup_epochs"], new["edges"]) == (True, 4, "absence")
    assert [guards["auto_augment"] for guards in (old, new, few)] == ["always", "no", "balance"]
    assert found["short-candidate-1"]["guards"]["wipeout"]
    assert found["full-absent-1"]["variant"] == "absent"


def test_own_cells_are_judged_every_five_epochs_and_at_the_end(found, files):
    judge = SurrogateBenchmark.load(files[2])
    assert list(found["full-absent-1"]["judged"]) == ["5", "6"]
    assert list(found["short-warm-1"]["judged"]) == ["5", "10"]
    cell = Genotype.random("darts", 10)
    assert found["short-warm-1"]["judged"]["10"] == pytest.approx(judge.accuracy(cell), abs=1e-4)
    assert found["short-warm-1"]["taken_apart"]["found"] == found["short-warm-1"]["judged"]["10"]
    assert found["short-warm-1"]["normal"] == darts_cells.word(cell.normal)


def test_edge_rules_are_asked_where_shares_mean_something(found):
    old, new = found["full-absent-1"]["by_edge_rule"], found["short-warm-1"]["by_edge_rule"]
    assert set(old) - set(new) == {"absence"}  # newer searches cut edges of one expert each alone
    assert {DRAWN, INPUTS, "share", "absence, one expert each"} <= set(new)
    assert "by_edge_rule" not in found["short-candidate-1"]


def test_epochs_of_the_warm_up_have_no_cell(found):
    late, early = found["few-late-1"], found["few-early-1"]
    assert list(late["true"]) == ["30"]
    assert early["true"] == {"20": 93.76, "30": 93.76}
    assert late["least"] == {"epoch": 27, "true": 54.3}
    assert early["least"] == {"epoch": 20, "true": 93.76}
    assert (late["arch"], late["skips"]) == (SKIPS, 6)


def test_an_epoch_that_is_looked_at_is_a_named_one_or_the_last():
    epochs = [{"epoch": number} for number in range(21, 98)]
    assert [e["epoch"] for e in looked_at("few", epochs)] == [30, 50, 70, 90, 97]
    assert [e["epoch"] for e in looked_at("short", epochs[:6])] == [25, 26]


def test_rewards_are_centred_on_each_edge():
    paid = np.zeros((2, 14, 7))
    paid[..., 0] = 7.0  # of two cells that share a mixture, over ten rounds: 1.4 more than the others
    epoch = {"rounds": 10, "paid": {"normal": (paid + 100).tolist()}}
    assert reward_size(epoch, "normal") == pytest.approx(1.4 * np.sqrt(6) / 7, rel=1e-2)


def test_a_file_of_another_seed_is_refused():
    with pytest.raises(SystemExit, match="played with seed 1"):
        judged_searches.entry("short-warm-2", SEARCHES["short-warm-1"], None, None)


def test_the_same_archive_gives_the_same_bytes(files, written, tmp_path):
    judged_searches.main([*files, "--out", str(tmp_path / "again")])
    assert (tmp_path / "again").read_bytes() == written.read_bytes()


def kept():
    return {search["search"]: search for search in json.loads(KEPT.read_text(encoding="utf8"))}


@pytest.mark.evidence
def test_every_search_of_the_archives_is_kept():
    assert set(read_searches(ARCHIVES)) == set(kept())
    assert len(kept()) == 58


@pytest.mark.evidence
def test_a_search_keeps_the_edges_that_its_rule_says():
    for search in kept().values():
        if "by_edge_rule" in search:
            rule = {"absence": "absence, one expert each"}.get(search["guards"]["edges"], "share")
            assert search["by_edge_rule"][rule] == search["taken_apart"]["found"], search["search"]


@pytest.mark.evidence
@darts_cells.needs_the_real_cells
@needs_the_real_table
def test_what_is_kept_is_what_the_script_writes(tmp_path):
    words = ["--truth", str(darts_cells.REAL), "--table", str(TABLE), "--out", str(tmp_path / "new")]
    judged_searches.main([*map(str, ARCHIVES), *words])
    for search in json.loads((tmp_path / "new").read_text(encoding="utf8")):
        same(search, kept()[search["search"]])


def same(new, old):
    """Equal, but for the last digits of estimates, which may differ from machine to machine."""
    if isinstance(new, dict):
        assert new.keys() == old.keys()
        for name, value in new.items():
            same(value, old[name])
    else:
        assert new == (pytest.approx(old, abs=0.01) if isinstance(old, float) else old)


@pytest.mark.evidence
@needs_the_real_table
def test_the_known_accuracies_are_those_of_the_table():
    table = TabularBenchmark.load(TABLE)
    for search in kept().values():
        if search["space"] != SPACES["darts"].name:
            assert list(search["true"].values())[-1] == pytest.approx(
                table.accuracy(search["arch"]), abs=1e-4
            )
