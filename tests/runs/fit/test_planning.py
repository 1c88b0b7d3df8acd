"""The plan of a fit: pure functions of numbers, against made-up speeds."""

import math
from dataclasses import replace

import pytest
from fits import SPEEDS, searching_speed, speed

from xnas import ConfigError, Genotype
from xnas.errors import DatasetError
from xnas.runs.fit.planning import (
    AIM,
    GOOD_ROUNDS,
    LEAST_EPOCHS,
    LEAST_ROUNDS,
    LEAST_USED,
    MOST_EPOCHS,
    Facts,
    cell_epochs,
    epochs_within,
    larger_fits,
    larger_search_fits,
    make_plan,
    require_enough,
    rounds_of,
    search_within,
    searchable,
    step_seconds,
)
from xnas.space import find_genotype

FACTS = Facts(images=2000, fewest=180, fewest_name="cat")


def plan(minutes, facts=FACTS, speeds=SPEEDS, spent=1.0):
    return make_plan(minutes, facts, speeds, spent=spent)


def decided(made, subject):
    return next(one for one in made.decisions if subject in one.subject)


@pytest.mark.parametrize("minutes", [1, 2, 3, 5])
def test_a_plan_fills_its_time_and_ends_in_it(minutes):
    made = plan(minutes)
    assert LEAST_USED * 60 * minutes <= made.seconds <= AIM * 60 * minutes + 1e-9


def test_the_stages_are_all_that_is_planned_in_their_order():
    made = plan(3)
    assert list(made.stages()) == ["search", "found", "random", "resnet", "end"]
    assert made.seconds == pytest.approx(made.spent + sum(made.stages().values()))


def test_a_time_into_which_nothing_fits_is_refused_with_one_that_would_do():
    with pytest.raises(
        ConfigError, match=r"--minutes 0.1 is too short on this machine: 4 epochs"
    ) as info:
        plan(0.1)
    wanted = float(str(info.value).split("need about ")[1].split()[0])
    made = plan(wanted)
    assert made.search is None
    assert made.resnet.epochs >= LEAST_EPOCHS


def test_what_the_smallest_trainings_need_is_what_is_said():
    # 2 cells and a ResNet: 0.5 s and 4 epochs of 20 steps and an end each, 3 s at the end and 1 s spent.
    least = 2 * (0.5 + 4 * 0.5) + (0.5 + 4 * 0.3) + 3 + 1
    with pytest.raises(ConfigError, match=f"about {math.ceil(10 * 1.1 * least / AIM / 60) / 10:g} min"):
        plan(0.01)


def test_more_time_gives_larger_networks_and_then_says_that_there_is_time_left():
    assert plan(0.5).cells.channels == 8
    assert plan(5).cells.channels == 16
    assert plan(5).resnet.cell == "resnet-20"
    long = plan(600)
    assert long.resnet.epochs == MOST_EPOCHS
    assert long.seconds < LEAST_USED * 60 * 600
    assert "larger networks than those measured are not planned" in decided(long, "left over").reason


def test_few_images_are_not_searched_with_the_reason():
    few = Facts(images=443, fewest=30)
    assert not searchable(few)
    made = plan(2, few, replace(SPEEDS, search=()))
    assert (made.search, made.cells.published) == (None, "xnas")
    reason = "354 images, 24 of the smallest class, are too few to rank operations"
    assert reason in decided(made, "search").reason
    assert "published cell xnas" in decided(made, "random cell").subject
    assert searchable(Facts(images=600, fewest=30))
    assert not searchable(Facts(images=600, fewest=20))


def test_a_search_of_too_few_rounds_is_left_out_with_the_reason():
    slow = replace(SPEEDS, search=(searching_speed(round=5.0),))
    made = plan(2, speeds=slow)
    assert made.search is None
    assert f"fewer than {LEAST_ROUNDS} rounds fit" in decided(made, "search").reason


def test_the_largest_supernet_that_has_its_rounds_is_searched():
    made = plan(10)
    assert (made.search.cells, made.search.channels) == (5, 8)
    assert rounds_of(made.search) >= GOOD_ROUNDS
    short = plan(1.5).search
    assert (short.cells, short.channels) == (3, 4)
    assert LEAST_ROUNDS <= rounds_of(short) < GOOD_ROUNDS


@pytest.mark.parametrize("seconds", [20, 40, 80, 200, 1000])
def test_a_search_fits_into_its_time(seconds):
    found = search_within(searching_speed(), FACTS, seconds)
    assert found.seconds <= seconds
    assert found.images <= FACTS.kept


def test_a_search_in_short_time_sees_a_part_of_many_images():
    many = Facts(images=45_000, fewest=4_000)
    found = search_within(searching_speed(), many, 60.0)
    assert found.images < 10_000
    assert found.epochs == 20
    assert search_within(searching_speed(), many, 2.0) is None


def test_validation_is_a_fifth_and_less_of_many_images():
    assert FACTS.validation == 0.2
    assert Facts(images=50_000, fewest=5_000).validation == 0.1
    assert FACTS.kept == 1600


def test_a_class_that_cannot_be_split_is_refused_by_name():
    with pytest.raises(DatasetError, match="class 'cat' has 4 training images; a fit needs at least 5"):
        require_enough(Facts(images=100, fewest=4, fewest_name="cat"))
    require_enough(Facts(images=100, fewest=5))


def test_whole_epochs_fit_into_the_time():
    assert epochs_within(speed(), 5.5) == 10  # 0.5 s, then 20 steps of 20 ms and 0.1 s each
    assert epochs_within(speed(), 0.4) == 0


def test_a_larger_size_is_measured_only_where_it_may_fit():
    assert larger_fits(speed(), 0.5 + 45 * 0.5)
    assert not larger_fits(speed(), 0.4 + 45 * 0.5)
    assert larger_search_fits(searching_speed(), FACTS, 200.0)  # 50 epochs take less
    assert not larger_search_fits(searching_speed(), FACTS, 20.0)
    assert not larger_search_fits(searching_speed(), FACTS, 1.0)


def cell(operation):
    """A cell with the edges of the reference, all of one operation."""
    reference = find_genotype("xnas")
    text = reference.to_json()
    for name in ("sep_conv_3x3", "sep_conv_5x5", "dil_conv_3x3", "dil_conv_5x5", "max_pool_3x3"):
        text = text.replace(name, operation)
    return Genotype.from_json(text.replace("avg_pool_3x3", operation))


def test_a_step_costs_what_its_edges_add():
    planned, reference = plan(3).cells, find_genotype("xnas")
    assert step_seconds(planned, reference, reference) == planned.step
    dear, cheap = cell("sep_conv_3x3"), cell("skip_connect")
    count = sum(
        edge.operation == "sep_conv_3x3"
        for one in (dear.normal, dear.reduction)
        for edges in one.nodes
        for edge in edges
    )
    difference = step_seconds(planned, dear, cheap) - 0
    assert step_seconds(planned, dear, reference) > step_seconds(planned, cheap, reference)
    assert difference == pytest.approx(planned.step * (1 + 0.02 * count))


def test_dearer_cells_get_fewer_epochs_so_that_the_time_holds():
    planned, reference = plan(3).cells, find_genotype("xnas")
    cells = [cell("sep_conv_3x3"), cell("sep_conv_3x3")]
    epochs = cell_epochs(planned, cells, reference)
    each = step_seconds(planned, cells[0], reference)
    used = 2 * (planned.start + epochs * (planned.steps * each + planned.epoch_end))
    assert used <= planned.seconds < used + 2 * (planned.steps * each + planned.epoch_end)
    assert cell_epochs(planned, [cell("skip_connect")] * 2, reference) > epochs


def test_a_pretrained_model_takes_its_share():
    made = plan(3, speeds=replace(SPEEDS, pretrained=speed("timm:resnet18", 1, 1, step=0.1)))
    assert made.pretrained.cell == "timm:resnet18"
    assert LEAST_EPOCHS <= made.pretrained.epochs <= 20
    assert LEAST_USED * 180 <= made.seconds <= AIM * 180
    assert decided(plan(3), "pretrained").reason == "no weights at hand"
