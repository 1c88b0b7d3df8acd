"""Tables of evaluations: the best cells, and the front of accuracy and size."""

from xnas.records import Sampled
from xnas.report.sampling import (
    best_cells,
    cells_table,
    evaluations_line,
    pareto_front,
    rung_text,
)


def record(number, value, parameters, same_as=None, budget=None):
    return Sampled(
        number=number,
        value=value,
        best=0.9,
        epochs=1,
        seconds=None,
        parameters=parameters,
        macs=10 * parameters,
        same_as=same_as,
        budget=budget,
    )


RECORDS = [
    record(0, 0.80, 300_000),
    record(1, None, 100_000),
    record(2, 0.90, 900_000),
    record(3, 0.85, 200_000),
    record(4, 0.82, 300_000, same_as=0),
    record(5, 0.90, 950_000),
    record(6, 0.70, 150_000),
    record(7, 0.70, 160_000),
]


def test_each_cell_counts_once_by_its_best_evaluation():
    assert [r.number for r in best_cells(RECORDS)] == [2, 5, 3, 4, 6, 7]
    assert [r.number for r in best_cells(RECORDS, 2)] == [2, 5]


def test_the_front_holds_what_nothing_beats():
    # By hand: 0.15 M has 0.70; 0.2 M has 0.85; 0.3 M has less; 0.9 M has 0.90, which 0.95 M only equals.
    assert [r.number for r in pareto_front(RECORDS)] == [6, 3, 2]


def test_cells_are_compared_within_the_highest_rung_that_has_a_value():
    rungs = [
        record(0, 0.80, 300_000, budget=12),
        record(1, 0.95, 100_000, budget=12),
        record(2, 0.90, 300_000, same_as=0, budget=200),
        record(3, 0.85, 200_000, budget=200),
        record(4, None, 100_000, same_as=1, budget=600),
    ]
    assert [r.number for r in best_cells(rungs)] == [2, 3]
    assert [r.number for r in pareto_front(rungs)] == [3, 2]
    assert evaluations_line(rungs) == (
        "5 evaluations, 3 different cells, 1 failed; 2 evaluations at the highest rung, 200 epochs"
    )
    assert [r.number for r in best_cells(rungs[:2])] == [1, 0]
    assert rung_text(RECORDS) == rung_text([]) == ""


def test_the_table_marks_the_front():
    lines = cells_table(RECORDS, best_cells(RECORDS, 3)).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["90.00", "%", "0.900", "9.0", "2", "*"],
        ["90.00", "%", "0.950", "9.5", "5"],
        ["85.00", "%", "0.200", "2.0", "3", "*"],
    ]
    small = [record(0, 0.5, 4_480), record(1, 0.4, 120_000)]
    assert [line.split() for line in cells_table(small, small).splitlines()] == [
        ["validation", "parameters", "MACs", "trial", "front"],
        ["50.00", "%", "4,480", "44,800", "0", "*"],
        ["40.00", "%", "120,000", "1,200,000", "1"],
    ]
    assert evaluations_line(RECORDS) == "8 evaluations, 7 different cells, 1 failed"
    assert evaluations_line(RECORDS[:1]) == "1 evaluation, 1 different cell"
