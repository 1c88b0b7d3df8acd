"""Verdicts on claims of the DARTS space: each part can hold, fail, or stay undecided."""

import pytest
from small_lines import by_variant, measured

from darts_claims import CLAIMS
from small_searches import declared

JOBS = declared("small-darts")
VERDICTS = ("holds", "does not hold", "not decided")
PARTS = [(letter, number) for letter, claim in CLAIMS.items() for number in range(len(claim.parts))]
CASES = {
    # Changes that let the part hold, fail, and stay undecided.
    ("l", 0): [by_variant("true", rate_paper=v) for v in ([90.0, 90.01], [80.0, 80.01], [70.0, 91.0])],
    ("l", 1): [by_variant("true", rate_one=v) for v in ([80.0, 80.01], [90.0, 90.01], [70.0, 91.0])],
    ("l", 2): [by_variant("true", rate_by_kind=v) for v in ([99.0, 99.01], [90.0, 90.01], [89.0, 99.0])],
    ("l", 3): [by_variant("true", rate_0_1=v) for v in ([90.0, 90.01], [99.0, 99.01], [70.0, 99.0])],
    ("l", 4): [by_variant("entropy", rate_paper=v) for v in (0.8, 0.995, [0.8, 0.95])],
    ("m", 0): [by_variant("true", darts=v) for v in ([80.0, 80.01], [90.0, 90.01], [70.0, 91.0])],
}


def test_every_part_has_its_cases():
    assert list(CASES) == PARTS


@pytest.mark.parametrize("number", range(3), ids=VERDICTS)
@pytest.mark.parametrize("part", PARTS, ids=str)
def test_runs_give_every_verdict(tmp_path, part, number):
    letter, index = part
    outcome = CLAIMS[letter].parts[index].outcome(measured(tmp_path, JOBS, CASES[part][number]))
    assert outcome[1] == VERDICTS[number]


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_nothing_is_judged_before_all_runs_are_there(tmp_path, part):
    jobs = CLAIMS[part[0]].parts[part[1]].jobs
    results = measured(tmp_path, JOBS, left_out=[jobs[-1].name])
    assert CLAIMS[part[0]].parts[part[1]].outcome(results)[1] == "not measured yet"
    assert {job.seed for job in jobs} == {0, 1}
    assert {job.size for job in jobs} == {"small-darts"}


def test_entropies_are_means_over_both_kinds_of_cell(tmp_path):
    def change(job):
        return {"kinds": {"reduction": 0.6}} if job.variant == "rate-paper" else {}

    told, _ = CLAIMS["l"].parts[4].outcome(measured(tmp_path, JOBS, change))
    assert told == "entropy before the first wipeout: 0.7750, 0.7750."  # of 0.95 and 0.6
