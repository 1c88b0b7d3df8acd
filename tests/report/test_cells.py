"""Cells in the terminal and as figures: they show what the genotype says, and nothing overlaps."""

import re
from collections import Counter

import pytest
from drawn_cells import CELLS, XNAS, Pair, cell, edges_of, random_cell

from xnas.report.cells import cell_lines, genotype_lines


def read_lines(text):
    """Edges and joined states, followed from rail to rail as a reader would."""
    rails, edges, joined, waiting = {}, Counter(), [], []
    for line in text.splitlines()[1:]:
        if "output" in line:
            joined = [state for column, state in rails.items() if line[column : column + 1] in set("╰┴")]
        elif match := re.match(r"[ │┼─●]*●[┼─]*▸ (\w+)\((\d+)\) ─+[╮┤]$", line):
            source = rails[line.index("●")]
            assert source == int(match[2])
            waiting.append((match[1], source))
        elif match := re.match(r"[ │]*(\d+) ", line):
            rails[match.start(1)] = int(match[1])
            edges.update((operation, source, int(match[1])) for operation, source in waiting)
            waiting = []
    return edges, joined


class TestTerminal:
    def test_a_small_cell_is_drawn_as_a_person_would(self):
        small = cell([("relu", 1), ("skip_connect", 0)], [("tanh", 2), ("relu", 0)], concat=(3,))
        assert cell_lines(small, "a cell").splitlines() == [
            "a cell",
            " 0  the cell before the previous",
            " │  1  the previous cell",
            " ●──┼──▸ skip_connect(0) ─╮",
            " │  ●──▸ relu(1) ─────────┤",
            " │     2 ◂────────────────╯",
            " ●─────┼──▸ relu(0) ─────────╮",
            "       ●──▸ tanh(2) ─────────┤",
            "          3 ◂────────────────╯",
            "          ╰──▸ output",
        ]

    @pytest.mark.parametrize("name", CELLS)
    def test_the_drawing_can_be_read_back(self, name):
        edges, joined = read_lines(cell_lines(CELLS[name], name))
        assert edges == edges_of(CELLS[name])
        assert joined == list(CELLS[name].concat)

    @pytest.mark.parametrize("name", CELLS)
    def test_a_rail_runs_from_its_state_to_its_last_use(self, name):
        lines = cell_lines(CELLS[name], name).splitlines()
        for state in range(2 + len(CELLS[name].nodes)):
            column = 1 + 3 * state
            marks = [line[column : column + 1] for line in lines[1:]]
            made = marks.index(str(state))
            end = max(i for i, mark in enumerate(marks) if mark in set("●╰┴"))
            assert set(marks[made + 1 : end]) <= set("│┼●")

    def test_an_input_that_nobody_uses_says_so(self):
        alone = cell([("relu", 1), ("tanh", 1)])
        lines = cell_lines(alone, "a cell").splitlines()
        assert lines[1:3] == [" 0  the cell before the previous, not used", "    1  the previous cell"]

    @pytest.mark.parametrize("seed", range(20))
    def test_both_cells_fit_side_by_side_into_100_columns(self, seed):
        pair = Pair(random_cell(seed), random_cell(-seed))
        lines = genotype_lines(pair).splitlines()
        assert lines[0].split("  ")[0] == "normal cell"
        assert lines[0].endswith("reduction cell")
        assert len(lines) == len(cell_lines(pair.normal, "").splitlines())
        assert max(map(len, lines)) <= 100
        assert all(line == line.rstrip() for line in lines)

    def test_cells_that_do_not_fit_stand_one_above_the_other(self):
        wide = cell([("x" * 60, 0), ("relu", 1)])
        text = genotype_lines(Pair(wide, XNAS.reduction))
        assert text == "\n\n".join(
            [cell_lines(wide, "normal cell"), cell_lines(XNAS.reduction, "reduction cell")]
        )
