"""Verdicts on claims of full size: each part can hold, fail, or stay undecided, with its own runs."""

import pytest
from result_lines import training, write
from small_lines import by_variant, measured

import long_trainings
from full_claims import CLAIMS, GAP_MARGIN
from result_tables import Results
from small_judges import EARLIER_PAIRS, PAIRS
from small_searches import declared

SEARCHED = {letter: claim for letter, claim in CLAIMS.items() if letter != "t"}
PARTS = [(letter, number) for letter, claim in SEARCHED.items() for number in range(len(claim.parts))]
VERDICTS = ("holds", "does not hold", "not decided")
JOBS = [job for size in ("benchmark", "fewer", "darts") for job in declared(size)]


def with_wipeout(name, value, other):
    """A change of all searches with wipeout, or but for one on each space."""

    def change(job):
        if job.variant in {*PAIRS, *EARLIER_PAIRS}:
            return {name: other if (job.variant, job.seed) == ("wipeout", 1) else value}
        return {}

    return change


GAPS = [
    with_wipeout("gap", 20 - GAP_MARGIN - 0.01, 20 - GAP_MARGIN - 0.01),
    lambda _: {},
    with_wipeout("gap", 1, 20),
]
CELLS = [
    with_wipeout("cell", 30 + GAP_MARGIN + 0.01, 30 + GAP_MARGIN + 0.01),
    lambda _: {},
    with_wipeout("cell", 80, 30),
]
KEPT = [lambda _: {}, with_wipeout("true", 89.7, 89.7), with_wipeout("true", 80, 90)]
NO_WORSE = ([90.0, 90.01], [80.0, 80.01], [70.0, 91.0])
BETTER = ([80.0, 80.01], [90.0, 90.01], [70.0, 91.0])


def times(*variants):
    return [[by_variant("cpu", **{name: v}) for v in (0.9, 0.96, [0.9, 1.0])] for name in variants]


def accuracies(variant, values):
    return [by_variant("true", **{variant: v}) for v in values]


SPARSE = (0.8, 0.995, [0.8, 0.95])
CASES = {
    # Changes that let each part hold, fail, and stay undecided.
    "n": [GAPS, CELLS, GAPS, CELLS],
    "o": [
        *times("wipeout", "relaxation_0_1", "bound_0_1", "relaxation_0_03", "bound_0_03"),
        KEPT,
        *times("wipeout", "relaxation_0_1", "bound_0_1"),
        KEPT,
    ],
    "p": [
        accuracies("rate_paper", NO_WORSE),
        accuracies("rate_0_1", BETTER),
        [by_variant("entropy", rate_paper=v) for v in SPARSE],
        accuracies("rate_paper", NO_WORSE),
        accuracies("rate_one", BETTER),
        accuracies("rate_by_kind", ([99.0, 99.01], [90.0, 90.01], [89.0, 99.0])),
        accuracies("rate_0_1", ([90.0, 90.01], [99.0, 99.01], [70.0, 99.0])),
        [by_variant("entropy", rate_paper=v) for v in SPARSE],
    ],
    "q": [
        [by_variant("held", late_eg=v) for v in (0.26, 0.24, [0.26, 0.24])],
        [by_variant("held", late_softmax=v) for v in (0.29, 0.31, [0.29, 0.31])],
        [by_variant("held", late_adam=v) for v in (0.29, 0.31, [0.29, 0.31])],
        [
            by_variant("held", early_softmax=0.5),
            by_variant("held", early_eg=0.5),
            by_variant("held", early_eg=[0.5, 0.3], early_softmax=0.4),
        ],
    ],
    "r": [
        accuracies("per_sample", NO_WORSE),
        [by_variant("entropy", per_sample=v) for v in SPARSE],
    ],
    "s": [accuracies("darts", BETTER)],
}


def part_of(part):
    return CLAIMS[part[0]].parts[part[1]]


def test_every_part_has_its_cases():
    assert [(letter, number) for letter in CASES for number in range(len(CASES[letter]))] == PARTS


@pytest.mark.parametrize("number", range(3), ids=VERDICTS)
@pytest.mark.parametrize("part", PARTS, ids=str)
def test_runs_give_every_verdict(tmp_path, part, number):
    results = measured(tmp_path, part_of(part).jobs, CASES[part[0]][part[1]][number])
    assert part_of(part).outcome(results)[1] == VERDICTS[number]


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_nothing_is_judged_before_all_runs_are_there(tmp_path, part):
    jobs = part_of(part).jobs
    results = measured(tmp_path, jobs, left_out=[jobs[0].name])
    assert part_of(part).outcome(results)[1] == "not measured yet"
    assert len({job.size for job in jobs}) == 1


def test_times_of_several_devices_decide_nothing(tmp_path):
    def change(job):
        return {"cpu": 0.5, "where": {"device": "another"}} if job.variant == "wipeout" else {}

    told, verdict = part_of(("o", 0)).outcome(measured(tmp_path, JOBS, change))
    assert verdict == "not decided"
    assert "several devices" in told


def trained(folder, accuracies, jobs):
    lines = [training(job, accuracy) for job, accuracy in zip(jobs, accuracies, strict=True)]
    write(folder, long_trainings=[line | {"epochs": 600} for line in lines])
    return Results(folder)


@pytest.mark.parametrize(("accuracy", "verdict"), [(0.9721, "holds"), (0.972, "does not hold")])
def test_a_training_at_full_length_may_be_two_standard_errors_above(tmp_path, accuracy, verdict):
    # 2 sqrt(2.48 · 97.52 / 10,000) = 0.311 points
    results = trained(tmp_path, [accuracy], long_trainings.sets()["full"])
    told, found = part_of(("t", 0)).outcome(results)
    assert found == verdict
    assert f"{100 - 100 * accuracy:.2f} % after 600 epochs" in told


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ((0.962, 0.9625, 0.963), "holds"),
        ((0.94, 0.941, 0.942), "does not hold"),
        ((0.95, 0.97, 0.96), "not decided"),
    ],
)
def test_a_shortened_transfer_is_judged_by_the_interval_of_its_mean(tmp_path, found, verdict):
    # The limit is 3.64 + 2 sqrt(3.64 · 96.36 / 10,000) = 4.01 %.
    results = trained(tmp_path, found, long_trainings.sets()["transfer"])
    assert part_of(("t", 1)).outcome(results)[1] == verdict
