"""Charts of a search, and which of them a run has numbers for."""

from dataclasses import replace

import pages
from pages import CELLS, story

from xnas.records import Judgement
from xnas.report.page.search_charts import (
    cost_charts,
    edge_name,
    mixture_charts,
    progress_charts,
    regret_chart,
    reward_charts,
)


def by_name(charts):
    return {chart.name: chart for chart in charts}


def test_progress_has_a_chart_of_everything_that_was_measured():
    charts = by_name(progress_charts(story()))
    assert set(charts) == {"accuracy", "loss", "entropy", "alive", "skips", "gap", "truth"}
    assert charts["alive"].panels[0].series[0].values == (98.0, 97.0, 97.0)
    assert charts["gap"].places == (3,)
    assert charts["truth"].title == "True accuracy of the cell"


def test_what_was_not_measured_has_no_chart():
    bare = tuple(replace(e, gap=None, truth=None) for e in pages.epochs())
    assert not {"gap", "truth"} & set(by_name(progress_charts(story(epochs=bare))))
    for charts in (progress_charts, cost_charts, mixture_charts, reward_charts):
        assert charts(story(epochs=())) == ()


def test_a_judged_accuracy_is_called_so():
    judged = Judgement(accuracy=93.0, error=0.5, percentile=80.0)
    epochs = tuple(replace(e, truth=judged) for e in pages.epochs())
    assert by_name(progress_charts(story(epochs=epochs)))["truth"].title.startswith("Judged")


def test_time_and_memory_are_in_readable_units():
    charts = by_name(cost_charts(story()))
    assert charts["seconds"].panels[0].series[0].values == (150.0, 150.0, 150.0)
    assert charts["memory"].panels[0].series[0].values == (256.0, 256.0, 256.0)


def test_lines_of_wiped_experts_end_at_zero():
    normal = by_name(mixture_charts(story(epochs=tuple(pages.epochs(4)))))["mixtures-normal"]
    last = normal.panels[0].series[-1].values
    assert last[0] > 0
    assert last[1:] == (0, None, None)
    assert len(normal.panels) == 14


def test_rewards_have_a_panel_for_every_stage():
    charts = by_name(reward_charts(story()))
    assert [panel.title for panel in charts["rewards-normal"].panels] == ["stage 0", "stage 1"]
    assert len(charts["rewards-reduction"].panels) == 1
    assert charts["rewards-reduction"].half


def test_an_operation_that_a_stage_never_paid_has_no_line_there():
    epochs = tuple(
        replace(e, rewards_by_stage={"normal": {"0": {"skip_connect": 1.0}}}) for e in pages.epochs()
    )
    (chart,) = reward_charts(story(epochs=epochs))
    assert [one.name for one in chart.panels[0].series] == ["skip_connect"]


def test_regret_stands_beside_its_bound_if_there_is_one():
    chart = regret_chart("normal", pages.ledger(), CELLS)
    assert [one.name for one in chart.panels[0].series] == ["regret", "bound"]
    assert chart.places[0] == "in 1 → 2"
    assert regret_chart("normal", pages.ledger(), None).places[0] == "0"
    assert regret_chart("normal", pages.ledger(regret_bound=None), CELLS) is None


def test_edges_are_named_by_their_states():
    assert [edge_name(CELLS, at) for at in (1, 4)] == ["in 2 → 2", "2 → 3"]
    assert edge_name(replace(CELLS, inputs=1, edges=((0, 1),)), 0) == "in → 1"
