"""Whole searches by sampling: run folders, resumption, refusals."""

import json
from dataclasses import replace

import pytest

from xnas import ConfigError, DatasetError, resume_sampling, sample
from xnas.errors import DamagedFileError, FinishedError
from xnas.process.interrupt import Interrupted
from xnas.runs.sampling.pools import POOLS, LocalPool, PoolKind
from xnas.samplers import SAMPLERS


@pytest.fixture
def stop_after(monkeypatch):
    """Make the local pool stop the run, as its user would, at a given trial."""

    def install(number):
        class Stopping(LocalPool):
            def result(self, which=None):
                if which == number:
                    raise Interrupted("stopped inside a training")
                return super().result(which)

        monkeypatch.setitem(POOLS._entries, "local", PoolKind(Stopping, "stops"))

    return install


def files(folder):
    return {
        p.name: p.read_bytes() for p in folder.iterdir() if p.name in {"ledger.jsonl", "genotype.json"}
    }


@pytest.mark.parametrize("at", [0, 7])
def test_a_stopped_search_resumes_to_the_same_ledger(config, tmp_path, stop_after, at):
    whole = replace(config, out=tmp_path / "whole")
    sample(whole)
    stop_after(at)
    with pytest.raises(
        Interrupted, match=rf"stopped after evaluation {at}; resume with: xnas sample --resume .*run"
    ):
        sample(config)
    assert not (config.out / "genotype.json").exists()
    stop_after(None)
    resume_sampling(config.out)
    assert files(config.out) == files(whole.out)


def test_a_finished_search_says_so_and_can_be_given_more(config, tmp_path):
    config = replace(config, at_once=1)  # with more, the last ones are asked later than they would be
    sample(config)
    with pytest.raises(FinishedError, match=r"is finished; its best cell is in genotype\.json"):
        resume_sampling(config.out)
    with pytest.raises(
        ConfigError, match="is planned for 12 evaluations; --evaluations may raise them, got 3"
    ):
        resume_sampling(config.out, evaluations=3)
    more = resume_sampling(config.out, evaluations=20)
    assert len(more.evaluations) == 20
    whole = replace(config, evaluations=20, out=tmp_path / "whole")
    sample(whole)
    assert files(config.out) == files(whole.out)
    with pytest.raises(FinishedError):
        resume_sampling(config.out)


def test_a_damaged_answer_is_written_again(config):
    sample(config)
    before = files(config.out)
    (config.out / "genotype.json").write_text("{")
    resume_sampling(config.out)
    assert files(config.out) == before


def test_a_sampler_that_has_planned_cannot_be_given_more(config, monkeypatch):
    fixed = replace(SAMPLERS["evolution"], extendable=False)
    sample(config)
    monkeypatch.setitem(SAMPLERS._entries, "evolution", fixed)
    with pytest.raises(ConfigError, match="the sampler evolution has planned for 12 evaluations"):
        resume_sampling(config.out, evaluations=20)


def test_what_changed_since_the_beginning_is_refused(config, tmp_path, table):
    sample(config)
    (config.out / "genotype.json").unlink()
    other = tmp_path / "other.csv"
    other.write_bytes(table.read_bytes() + b"\n")
    with pytest.raises(
        DatasetError, match=r"other.csv is not the benchmark that the search in .* began"
    ):
        resume_sampling(config.out, truth=other)
    with pytest.raises(DatasetError, match=r"cannot read the benchmark .*gone.csv: No such file"):
        resume_sampling(config.out, truth=tmp_path / "gone.csv")
    with pytest.raises(ConfigError, match="a resumed run keeps its --seed"):
        resume_sampling(config.out, seed=3)
    saved = json.loads((config.out / "config.json").read_text())
    saved["config"]["seed"] = 1
    (config.out / "config.json").write_text(json.dumps(saved))
    asks = r"line 2 of .*: the sampler asks another cell .* may have been changed"
    with pytest.raises(DamagedFileError, match=asks + "; restore them from a copy, or begin"):
        resume_sampling(config.out)
    saved["made_with"]["torch"] = "1.0"
    (config.out / "config.json").write_text(json.dumps(saved))
    with pytest.raises(DamagedFileError, match=asks + r", or .*: xnas 0.*, torch 1\.0.* wrote it; "):
        resume_sampling(config.out)


@pytest.mark.parametrize(
    ("changes", "data", "words"),
    [
        ({"sampler": "evolutoin"}, None, "no sampler called 'evolutoin'; did you mean evolution"),
        (
            {"settings": "populatoin=3"},
            None,
            "the sampler has no setting 'populatoin'; did you mean pop",
        ),
        (
            {"settings": "population=0"},
            None,
            "the setting population of --settings must be at least 1",
        ),
        ({"pool": "lokal"}, None, "no pool called 'lokal'; did you mean local"),
        ({"tied": True}, None, "have one kind; there is nothing to tie"),
        ({}, object(), "the evaluator table needs no images; leave them out, or name the data set"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_written(config, changes, data, words):
    with pytest.raises(ConfigError, match=words):
        sample(replace(config, **changes), data)
    assert not config.out.exists()


def test_a_search_killed_at_any_byte_of_its_ledger_resumes_to_the_same(config):
    config = replace(config, evaluations=6)
    sample(config)
    whole = files(config.out)
    ledger, ends = config.out / "ledger.jsonl", len(whole["ledger.jsonl"])
    for cut in {0, 1, 40, 58, 59, *range(60, ends, ends // 25), ends - 1, ends}:
        for later in ("genotype.json", "curve.json", "costs.jsonl"):
            (config.out / later).unlink(missing_ok=True)
        ledger.write_bytes(whole["ledger.jsonl"][:cut])
        resume_sampling(config.out)
        assert files(config.out) == whole, cut


def test_a_search_without_its_ledger_is_not_begun_again(config):
    sample(config)
    ledger = config.out / "ledger.jsonl"
    ledger.write_bytes(b"")
    before = {path: path.read_bytes() for path in config.out.iterdir() if path.is_file()}
    with pytest.raises(
        DamagedFileError, match=r"is missing or empty, though .* of 12 evaluations; rest"
    ):
        resume_sampling(config.out, evaluations=20)
    assert before == {path: path.read_bytes() for path in config.out.iterdir() if path.is_file()}


def test_a_ledger_that_does_not_fit_costs_a_finished_search_nothing(config):
    sample(config)
    ledger = config.out / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"done"', '"gone"', 1))
    before = {path: path.read_bytes() for path in config.out.iterdir() if path.is_file()}
    with pytest.raises(DamagedFileError, match="its state is 'gone'"):
        resume_sampling(config.out, evaluations=20)
    assert before == {path: path.read_bytes() for path in config.out.iterdir() if path.is_file()}


@pytest.mark.parametrize("evaluations", [None, 20])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: [*lines[:4], b"{", *lines[5:]], "damaged in line 5"),
        (lambda lines: lines[:7], "has 2 of 12 evaluations, though the search was finished; restore"),
    ],
)
def test_the_ledger_of_a_finished_search_is_looked_through(config, change, words, evaluations):
    sample(config)
    ledger = config.out / "ledger.jsonl"
    ledger.write_bytes(b"\n".join(change(ledger.read_bytes().splitlines())) + b"\n")
    before = files(config.out)
    with pytest.raises(DamagedFileError, match=words):
        resume_sampling(config.out, **({} if evaluations is None else {"evaluations": evaluations}))
    assert files(config.out) == before
