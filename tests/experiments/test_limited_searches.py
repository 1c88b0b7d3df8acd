"""Searches within limits: what is declared, what a line holds, and how lines become a table."""

import json
from argparse import Namespace

import pytest
from nasbench201 import rows, write_table
from result_lines import limited_search, write

import limited_searches
import limited_tables
from jobs import Budget
from limited_searches import JOBS, LARGEST, SEEDS, SHARES, SMALLEST, TINY, Cells, Runner, every_cell
from recorded_search import generated_images
from result_tables import Results
from xnas import Genotype


def test_every_share_is_searched_with_every_seed():
    assert [(job.share, job.seed) for job in JOBS] == [(s, seed) for seed in SEEDS for s in SHARES]
    assert len({job.name for job in JOBS}) == len({job.command for job in JOBS}) == len(JOBS)
    free, limited = JOBS[0], JOBS[-1]
    assert "max_params" not in free.options
    assert f"--max-params {limited.options['max_params']}" in limited.command
    assert limited.config().max_params == limited_searches.limit_of(SHARES[-1])


def test_limits_lie_between_the_smallest_and_the_largest_network():
    cells = Cells(generated_images(64, 8))
    sizes = {cells.sizes.size(cell).parameters for cell in every_cell()}
    assert (min(sizes), max(sizes)) == (SMALLEST, LARGEST)
    assert len(set(every_cell())) == 4**6


@pytest.mark.evidence
def test_a_search_that_was_cut_resumes_and_gives_the_same_line(tmp_path):
    class Cut(Budget):
        def deadline(self):
            return 0.0

    truth = write_table(tmp_path / "c10.csv", rows())
    for job in TINY:
        lines = []
        for name, budgets in (("whole", [Budget(None)]), ("cut", [Cut(None), Budget(None)])):
            given = Namespace(runs=tmp_path / name, keep=True, device="cpu", data_dir=None, truth=truth)
            *early, line = [Runner(given, budget)(job) for budget in budgets]
            assert early == [None] * (len(budgets) - 1)
            lines.append({key: value for key, value in line.items() if key != "seconds"})
        assert lines[0] == lines[1]
        found = Genotype.from_arch(lines[0]["found"]["arch"])
        most = job.options.get("max_params", LARGEST)
        assert Cells(generated_images(64, 8)).sizes.size(found).parameters <= most


def test_a_row_has_every_limit_with_values_by_seed(tmp_path):
    free, _, limited = JOBS[:3]
    lines = [limited_search(free, 500_000, 91.25), limited_search(limited, 300_000, 90.5)]
    write(tmp_path, limited_searches=lines)
    results = Results(tmp_path)
    text = limited_tables.limited(results)
    limit = f"{limited.options['max_params']:,}"
    assert f"| {limit} | 300,000 | 90.50 | 2 | 1.25 | 500,000 | 91.25 | 80.00 | 94.50 |" in text
    assert "| no limit | 500,000 | 91.25 |  |  |" in text
    assert text.count("not measured yet") == len(SHARES) - 2
    points = limited_tables.points(results)
    assert points["found"] == [[500_000, 91.25, 0], [300_000, 90.5, 0]]
    assert points["best"] == [[limited.options["max_params"], 94.5]]
    assert json.dumps(points)


def test_without_lines_there_is_nothing_to_draw(tmp_path):
    assert limited_tables.points(Results(tmp_path)) == {}
