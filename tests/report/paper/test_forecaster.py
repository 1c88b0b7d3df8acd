"""The figure of a forecaster."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch

from xnas.report.figures import house_style
from xnas.report.paper.forecaster import draw_forecaster
from xnas.space import SPACES

EXPERTS = SPACES["darts"].operations


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_forecaster_names_its_experts_and_the_steps_of_algorithm_1():
    (axes,) = draw_forecaster(("conv", "pool", "skip")).axes
    written = texts(axes)
    assert {"conv", "pool", "skip", "$u_{1}$", "$u_{3}$", "reward", "clip", "EG step", "wipeout"} <= set(
        written
    )
    assert "$u_{4}$" not in written
    assert any("R_i = -" in text for text in written)


def test_wiped_experts_are_faded_crossed_out_and_left_out_of_the_pass():
    (whole,) = draw_forecaster(EXPERTS).axes
    (wiped,) = draw_forecaster(EXPERTS, wiped=["skip_connect", "sep_conv_5x5"]).axes
    faded = {text.get_text() for text in wiped.texts if (text.get_alpha() or 1) < 1}
    assert faded == {"skip_connect", "$u_{3}$", "sep_conv_5x5", "$u_{5}$"}
    at = {text.get_text(): text.get_position() for text in wiped.texts}
    for expert in ("skip_connect", "sep_conv_5x5"):
        crosses = [item for item in wiped.lines if item.get_label() == f"_wiped {expert}"]
        assert len(crosses) == 2
        for cross in crosses:
            assert np.mean(cross.get_xydata(), axis=0) == pytest.approx(at[expert])
    arrows = [sum(isinstance(p, FancyArrowPatch) for p in axes.patches) for axes in (whole, wiped)]
    assert arrows[0] - arrows[1] == 2 * 3  # to the expert, to its weight, to the mixture


def test_forecaster_stays_within_its_canvas():
    figure = draw_forecaster(EXPERTS, wiped={"max_pool_3x3"})
    with house_style():
        boxes = [text.get_window_extent() for text in figure.axes[0].texts if text.get_text()]
    width, height = figure.get_size_inches() * figure.dpi
    assert all(0 < box.x0 < box.x1 < width and 0 < box.y0 < box.y1 < height for box in boxes)
    assert not [(one, other) for one, other in combinations(boxes, 2) if one.overlaps(other)], (
        "labels overlap"
    )
