"""Rules for edges on a record whose answers can be read off."""

import json
import tarfile

import numpy as np
import pytest

import edge_rules
from edge_rules import RULES, by_rules, cell_by, drawn_cells, gains, read_records, windowed
from xnas import Genotype
from xnas.space import SPACES

SPACE = SPACES["darts"]
SEP, SKIP = SPACE.operations.index("sep_conv_3x3"), SPACE.operations.index("skip_connect")


def record(epoch=5, absence=True):
    """Edges from the inputs have the larger sums; those from the latest nodes the larger leads."""
    sums = np.zeros((14, 7))
    for place, (source, node) in enumerate(SPACE.edges):
        sums[place] = 1.0 - 0.1 * source  # every expert
        sums[place, SEP] += 0.01 * (1 + source)  # a lead
        if node == 5:
            sums[place, SKIP] = 5.0 - source  # the best of the last node
    latest = [float(source) for source, _ in SPACE.edges]
    mixture = np.exp(sums) / np.exp(sums).sum(-1, keepdims=True)
    both = {"normal": latest, "reduction": latest}
    kinds = ("normal", "reduction")
    return {
        "epoch": epoch,
        "sums": {kind: sums.tolist() for kind in kinds},
        "mixture": {kind: mixture.tolist() for kind in kinds},
        "absence": {"mixture": both, "alone": both} if absence else {},
        "cell": json.loads(Genotype.random("darts", 0).to_json()),
    }


def sources(cell, node):
    return [edge.source for edge in cell.normal.nodes[node - 2]]


def test_each_rule_keeps_the_edges_that_it_should():
    cells = by_rules(record())
    assert list(cells) == list(RULES)
    for name in ("best expert's sum", "all experts' sums"):
        assert [sources(cells[name], node) for node in (3, 4, 5)] == [[0, 1]] * 3
    for name in ("lead", "share", "absence", "absence, one expert each"):
        assert sources(cells[name], 3) == [1, 2]
        assert sources(cells[name], 4) == [2, 3]
    assert sources(cells["absence"], 5) == [3, 4]
    assert sources(cells["lead"], 5) == [0, 1]  # where skips lead by far
    for cell in cells.values():
        names = [[edge.operation for edge in node] for node in cell.normal.nodes]
        assert names == [["sep_conv_3x3"] * 2] * 3 + [["skip_connect"] * 2]


def test_what_was_not_recorded_is_left_out():
    assert not {name for name in by_rules(record(absence=False)) if name.startswith("absence")}


def test_records_with_costs_of_edges_answer_for_one_expert_each():
    older = record()
    newer = {name: value for name, value in older.items() if name != "absence"}
    newer["edge_costs"] = older["absence"]["alone"]
    cells, rule = by_rules(newer), "absence, one expert each"
    assert cells[rule] == by_rules(older)[rule]
    assert "absence" not in cells
    assert rule not in by_rules(newer | {"edge_costs": {}})  # during a warm-up


def test_drawn_edges_have_the_operations_of_their_places():
    drawn = drawn_cells(record(), 60)
    assert {tuple(sources(cell, 3)) for cell in drawn} == {(0, 1), (0, 2), (1, 2)}
    for cell in drawn:
        assert {edge.operation for edge in cell.reduction.nodes[3]} == {"skip_connect"}
        assert {edge.operation for edge in cell.reduction.nodes[0]} == {"sep_conv_3x3"}


def test_the_longest_archive_of_a_search_counts(tmp_path):
    for number, epochs in (("1", 2), ("2", 4), ("3", 3)):
        lines = [{"job": "x"}, *({"epoch": epoch + 1} for epoch in range(epochs))]
        (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        with tarfile.open(tmp_path / f"{number}.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / "x.jsonl", "full-absent-0.jsonl")
    found = read_records(sorted(tmp_path.glob("*.tar.gz")))
    assert [line["epoch"] for line in found["full-absent-0"]] == [1, 2, 3, 4]


def test_gains_are_over_drawn_edges():
    rows = [{"epoch": 5, "drawn": 93.0, "share": 93.5}, {"epoch": 10, "drawn": 94.0, "share": 93.7}]
    (line,) = gains({"a": rows})
    assert line["share"] == "+0.10"
    assert line["absence"] == ""


def test_rules_are_judged_every_five_epochs_and_at_the_end():
    class Judge:
        def accuracies(self, cells):
            return [90.0 + edge_rules.SPACE.nodes] * len(cells)

        def accuracy(self, cell):
            assert cell.space == "darts"
            return 93.0

    rows = edge_rules.judged(Judge(), [record(epoch) for epoch in (4, 5, 6, 7)])
    assert [row["epoch"] for row in rows] == [5, 7]
    assert rows[0]["share"] == rows[0]["drawn"] == pytest.approx(94.0)


def test_a_window_adds_up_what_the_last_epochs_paid_to_all_cells():
    kinds = ("normal", "reduction")
    lines = [
        {
            "paid": {k: np.full((2, 14, 7), 10.0**epoch).tolist() for k in kinds},
            "sums": dict.fromkeys(kinds),
        }
        for epoch in range(4)
    ]
    found = [line["sums"]["reduction"][3, 2] for line in windowed(lines, 2)]
    assert found == [2, 22, 220, 2200]


def test_ties_go_to_the_lower_source():
    flat = {kind: np.zeros(14) for kind in SPACE.kinds}
    assert [sources(cell_by(record(), flat), node) for node in (2, 3, 4, 5)] == [[0, 1]] * 4
