"""Verdicts on claims of small searches: each part can hold, fail, or stay undecided."""

import json

import pytest
import small_lines
from result_lines import write
from small_lines import by_variant

import search_claims
import small_tables
from result_tables import Results
from small_claims import CLAIMS
from small_judges import EARLIER_PAIRS, GAP_MARGIN, PAIRS
from small_searches import LATE, RIVALS, declared

PARTS = [(letter, number) for letter, claim in CLAIMS.items() for number in range(len(claim.parts))]
JOBS = declared("small")


def measured(folder, change=lambda _: {}, *, left_out=()):
    return small_lines.measured(folder, JOBS, change, left_out=left_out)


def all_with_wipeout(name, value, other):
    """A change of all searches with wipeout, or but for one of each group."""
    one_each = {("wipeout", 1), ("bound-0.03", 1)}

    def change(job):
        if job.variant in {*PAIRS, *EARLIER_PAIRS}:
            return {name: other if (job.variant, job.seed) in one_each else value}
        return {}

    return change


SMALLER_GAPS = [
    all_with_wipeout("gap", 20 - GAP_MARGIN - 0.01, 20 - GAP_MARGIN - 0.01),
    lambda _: {},
    all_with_wipeout("gap", 1, 20),
]
BETTER_CELLS = [
    all_with_wipeout("cell", 30 + GAP_MARGIN + 0.01, 30 + GAP_MARGIN + 0.01),
    lambda _: {},
    all_with_wipeout("cell", 80, 30),
]
KEPT_CELLS = [
    lambda _: {},
    all_with_wipeout("true", 89.7, 89.7),
    all_with_wipeout("true", 80, 90),
]


CASES = {
    # Changes that let the part hold, fail, and stay undecided.
    ("g", 0): SMALLER_GAPS,
    ("g", 1): BETTER_CELLS,
    ("g", 2): SMALLER_GAPS,
    ("g", 3): BETTER_CELLS,
    ("h", 0): [by_variant("cpu", wipeout=v) for v in (0.9, 0.96, [0.9, 1.0])],
    ("h", 1): [by_variant("cpu", relaxation_0_1=v) for v in (0.9, 0.96, [0.9, 1.0])],
    ("h", 2): [by_variant("cpu", bound_0_1=v) for v in (0.9, 0.96, [0.9, 1.0])],
    ("h", 3): KEPT_CELLS,
    ("h", 4): [by_variant("cpu", relaxation_0_03=v) for v in (0.9, 0.96, [0.9, 1.0])],
    ("h", 5): [by_variant("cpu", bound_0_03=v) for v in (0.9, 0.96, [0.9, 1.0])],
    ("h", 6): KEPT_CELLS,
    ("i", 0): [by_variant("true", rate_paper=v) for v in ([90.0, 90.01], [80.0, 80.01], [70.0, 91.0])],
    ("i", 1): [by_variant("true", rate_1=v) for v in ([80.0, 80.01], [90.0, 90.01], [70.0, 91.0])],
    ("i", 2): [by_variant("entropy", rate_paper=v) for v in (0.8, 0.995, [0.8, 0.95])],
    ("j", 0): [by_variant("held", late_eg=v) for v in (0.26, 0.24, [0.26, 0.24])],
    ("j", 1): [by_variant("held", late_softmax=v) for v in (0.24, 0.26, [0.26, 0.24])],
    ("j", 2): [by_variant("held", late_softmax=v) for v in (0.29, 0.31, [0.29, 0.31])],
    ("j", 3): [by_variant("held", late_adam=v) for v in (0.29, 0.31, [0.29, 0.31])],
    ("j", 4): [
        by_variant("held", early_softmax=0.5),
        by_variant("held", early_eg=0.5),
        by_variant("held", early_eg=[0.5, 0.3], early_softmax=0.4),
    ],
    ("k", 0): [by_variant("true", per_sample=v) for v in ([90.0, 90.01], [80.0, 80.01], [70.0, 91.0])],
    ("k", 1): [by_variant("entropy", per_sample=v) for v in (0.8, 0.995, [0.8, 0.95])],
}
VERDICTS = ("holds", "does not hold", "not decided")


def test_every_part_has_its_cases():
    assert list(CASES) == PARTS


@pytest.mark.parametrize("number", range(3), ids=VERDICTS)
@pytest.mark.parametrize("part", PARTS, ids=str)
def test_runs_give_every_verdict(tmp_path, part, number):
    letter, index = part
    results = measured(tmp_path, CASES[part][number])
    assert CLAIMS[letter].parts[index].outcome(results)[1] == VERDICTS[number]


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_nothing_is_judged_before_all_runs_are_there(tmp_path, part):
    letter, index = part
    jobs = CLAIMS[letter].parts[index].jobs
    told, verdict = CLAIMS[letter].parts[index].outcome(measured(tmp_path, left_out=[jobs[-1].name]))
    assert verdict == "not measured yet"
    assert f" of {len(jobs)} runs" in told
    assert {job.seed for job in jobs} == {0, 1}


def test_an_entropy_that_falls_by_wipeout_does_not_count(tmp_path):
    results = measured(tmp_path, by_variant("entropy", rate_paper=0.995))
    told, _ = CLAIMS["i"].parts[2].outcome(results)
    assert told == "entropy before the first wipeout: 0.9950, 0.9950."


def test_the_page_has_these_claims_after_the_others(tmp_path):
    page = search_claims.page(measured(tmp_path))
    letters = [text[0] for text in page.split("\n## (")[1:]]
    assert letters == sorted(letters)
    assert set(CLAIMS) < set(letters)


def test_the_tables_have_a_line_of_every_variant(tmp_path):
    results = measured(tmp_path, by_variant("cpu", wipeout=[0.5, 1.25]))
    told = small_tables.small(results)
    ours = "| `wipeout` | 90.00, 90.00 | 0.950, 0.950 | 20.0, 20.0 | 30.0, 30.0 | 0.0 %, 0.0 % |"
    assert f"{ours} 2.0 s, 5.0 s |" in told
    assert "rival" not in told
    assert small_tables.rivals(results).count("| `rival-") == len(RIVALS)
    assert ours in small_tables.rivals(results)
    assert small_tables.late(results).count("0.050, 0.050 | 0.300, 0.300 | 0.300, 0.300") == len(LATE)
    told = small_tables.long(results)
    assert told.startswith("Not measured yet: `full` (1 of 1), `found` (4 of 4), `transfer` (3 of 3). `")
    nothing = small_tables.small_darts(Results(tmp_path / "empty"))
    assert small_tables.entropy(results) == "Not measured yet."
    assert "| `wipeout` | not measured yet |" in nothing


def test_the_table_of_entropies_ends_with_both_verdicts(tmp_path):
    points = [
        {
            "method": "darts",
            "weight_decay": decay,
            "seed": seed,
            "entropy": entropy,
            "mixture_accuracy": 0.9,
            "cell_accuracy": cell,
        }
        for decay, entropy, cells in ((0.0, 0.8, (0.4, 0.3)), (0.1, 0.999, (0.5, 0.6)))
        for seed, cell in enumerate(cells)
    ]
    study = {"epochs": 10, "learning_rate": 0.03, "points": points}
    (tmp_path / "entropy.json").write_text(json.dumps(study), encoding="utf8")
    told = small_tables.entropy(Results(tmp_path))
    assert "| `darts` | 0 | 0.8000, 0.8000 | 50.0, 60.0 |" in told
    rises, loses = told.splitlines()[-2:]
    assert rises.startswith("| The mean normalized entropy increases")
    assert rises.endswith("| **holds** |")
    assert loses.startswith("| Dense mixtures lose more accuracy")
    assert loses.endswith("| **does not hold** |")  # 40 and 30 points lost where 50 and 60 were


def test_a_cell_whose_operations_have_left_has_no_gap(tmp_path):
    lines = measured(tmp_path).lines
    for line in lines:
        line["epochs"][-2]["gap"]["cell"] = None
    write(tmp_path, small_searches=lines)
    assert "| 0.950, 0.950 | —, — | 30.0, 30.0 |" in small_tables.small(Results(tmp_path))


def test_searches_that_are_done_in_part_are_shown_and_the_others_counted(tmp_path):
    jobs = declared("fewer")
    results = small_lines.measured(tmp_path, jobs, left_out=[jobs[0].name])
    told = small_tables.on_gpu(results)
    assert f"| `fewer`, `{jobs[0].variant}` | 1 of 2 | 90.00 (one) | 4.0 s |" in told
    assert "| `benchmark`" not in told
    assert "Not measured yet: `benchmark` (30 of 30), `fewer` (1 of 4), `darts` (20 of 20). `" in told
    assert "`fewer` (" not in small_tables.on_gpu(small_lines.measured(tmp_path, jobs))
