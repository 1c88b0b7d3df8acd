"""A search as its folder tells it."""

import pages
import pytest

from xnas.runs.reports.run_files import ReadRun
from xnas.runs.reports.search_reader import search_story


def story(folder):
    return search_story(ReadRun.open(folder))


def test_a_finished_search_is_read_whole(tmp_path):
    found = story(pages.search_run(tmp_path / "run"))
    assert found.head.faults == ()
    assert len(found.epochs) == found.epochs_planned == 3
    assert found.choices == tuple(pages.choices())
    assert found.ledgers["normal"] == pages.ledger()
    assert found.cells == pages.CELLS
    assert found.compared == 16
    assert len(found.undecided) == 0  # a lead of 1.5 is above the noise of this ledger
    assert (found.method, found.space) == ("xnas", "darts")


def test_the_cell_has_its_size_beside_the_zoo(tmp_path):
    sizes = {size.name: size for size in story(pages.search_run(tmp_path / "run")).sizes}
    assert sizes["this cell"].own
    assert sizes["xnas"].parameters == 3_793_438  # the zoo's count
    assert sizes["xnas"].error == 1.81  # Table 1
    assert sizes["this cell"].depth == pages.cell_depth(pages.CELL)


def test_a_killed_search_has_epochs_but_no_cell(tmp_path):
    found = story(pages.search_run(tmp_path / "run", finished=False))
    assert found.head.state == "stopped"
    assert "--resume" in found.head.next_command
    assert (found.choices, found.ledgers, found.sizes) == ((), {}, ())
    assert len(found.epochs) == 3


@pytest.mark.parametrize("name", ["discretization.json", "ledger.json", "genotype.json"])
def test_a_damaged_file_is_noted_and_the_others_are_read(tmp_path, name):
    folder = pages.search_run(tmp_path / "run")
    (folder / name).write_text('{"edges": [{"kind": 1}], "normal": {"rounds": 1}}', encoding="utf8")
    found = story(folder)
    assert any(name in fault for fault in found.head.faults)
    assert len(found.epochs) == 3


def test_skips_that_take_over_are_warned_of(tmp_path):
    skipping = pages.replace(pages.epochs()[0], skip_share={"normal": 0.9, "reduction": 0.0})
    line = pages.json.dumps(pages.asdict(skipping))
    found = story(pages.search_run(tmp_path / "run", lines=[line]))
    assert "Skip connections lead 90 % of the normal cell's edges" in found.warning


def test_an_unknown_space_has_no_graph(tmp_path):
    assert story(pages.search_run(tmp_path / "run", space="own")).cells is None


def test_a_space_with_none_has_a_column_more(tmp_path):
    found = story(pages.search_run(tmp_path / "run", finished=False, include_none=True))
    assert found.cells == pages.CELLS  # the mixtures say how many there are


def test_without_settings_cells_name_their_space(tmp_path):
    folder = pages.search_run(tmp_path / "run")
    (folder / "config.json").write_text("{", encoding="utf8")
    assert story(folder).cells == pages.CELLS


@pytest.mark.parametrize("name", ["genotype.json", "discretization.json", "ledger.json"])
def test_a_file_that_is_damaged_is_noted_once(tmp_path, name):
    folder = pages.search_run(tmp_path / "run")
    (folder / name).write_text("{}", encoding="utf8")
    (fault,) = story(folder).head.faults
    assert name in fault


def test_a_finished_search_has_its_cell_whatever_became_of_its_epochs(tmp_path):
    folder = pages.search_run(tmp_path / "run", lines=["{"])
    found = story(folder)
    assert found.epochs == ()
    assert len(found.graph.kinds["normal"]) == 8
    (fault,) = found.head.faults
    assert "metrics.jsonl is damaged in line 1" in fault
