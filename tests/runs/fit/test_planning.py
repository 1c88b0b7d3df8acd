"""The plan of a fit: pure functions of numbers, against made-up speeds."""

import math
from dataclasses import replace

import pytest
from fitting import SPEEDS, searching_speed, speed

from xnas import ConfigError
from xnas.runs.fit.planning import make_plan
from xnas.runs.fit.sizing import (
    AIM,
    GOOD_FINE_TUNING,
    GOOD_ROUNDS,
    LEAST_EPOCHS,
    LEAST_ROUNDS,
    LEAST_USED,
    MOST_EPOCHS,
    MOST_FINE_TUNING,
    Facts,
    rounds_of,
)

FACTS = Facts(images=2000, fewest=180, fewest_name="cat")


def plan(minutes, facts=FACTS, speeds=SPEEDS, spent=1.0, **others):
    return make_plan(minutes, facts, speeds, spent=spent, **others)


def decided(made, subject):
    return next(one for one in made.decisions if subject in one.subject)


@pytest.mark.parametrize("minutes", [1, 2, 3, 5])
def test_a_plan_fills_its_time_and_ends_in_it(minutes):
    made = plan(minutes)
    assert LEAST_USED * 60 * minutes <= made.seconds <= AIM * 60 * minutes + 1e-9


def test_the_plan_names_the_validation_images_of_the_split():
    facts = Facts(images=1000, fewest=8, counts=(8,) * 125)
    assert decided(plan(3, facts), "validation").choice == "250 images"  # 2 of 8, not a fifth of all
    assert decided(plan(3), "validation").choice == "400 images"


def test_the_stages_are_all_that_is_planned_in_their_order():
    made = plan(3)
    assert list(made.stages()) == ["search", "found", "random", "resnet", "end"]
    assert made.seconds == pytest.approx(made.spent + sum(made.stages().values()))


def test_a_time_into_which_nothing_fits_is_refused_with_one_that_would_do():
    with pytest.raises(
        ConfigError, match=r"--minutes 0.1 is too short on this machine: 4 epochs of each of 3"
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
    assert long.resnet.epochs == long.cells.epochs == MOST_EPOCHS
    assert long.seconds < LEAST_USED * 60 * 600
    assert "larger networks than those measured are not planned" in decided(long, "left over").reason


def test_few_images_are_not_searched_with_the_reason():
    made = plan(2, Facts(images=443, fewest=30), replace(SPEEDS, search=()))
    assert (made.search, made.cells.published) == (None, "xnas")
    reason = "354 images, 24 of the smallest class, are too few to rank operations"
    assert reason in decided(made, "search").reason
    assert "published cell xnas" in decided(made, "random cell").subject


def test_a_search_of_too_few_rounds_is_left_out_with_the_reason():
    for speeds in ((searching_speed(round=5.0),), ()):
        made = plan(2, speeds=replace(SPEEDS, search=speeds))
        assert made.search is None
        assert f"fewer than {LEAST_ROUNDS} rounds fit" in decided(made, "search").reason


def test_the_largest_supernet_that_has_its_rounds_is_searched():
    made = plan(10)
    assert (made.search.cells, made.search.channels) == (5, 8)
    assert rounds_of(made.search) >= GOOD_ROUNDS
    assert "the largest supernet measured that has 1,000" in decided(made, "search").reason
    short = plan(1.5)
    assert (short.search.cells, short.search.channels) == (3, 4)
    assert LEAST_ROUNDS <= rounds_of(short.search) < GOOD_ROUNDS
    assert "as many as fit" in decided(short, "search").reason


def test_few_images_are_searched_for_fifty_epochs():
    made = plan(5, Facts(images=600, fewest=60))
    assert made.search.epochs == 50
    line = decided(made, "search")
    assert "all images, 350 rounds, the largest supernet measured that has 50 epochs" in line.reason


def test_the_quick_space_is_explained_in_a_line():
    speeds = replace(SPEEDS, search=(searching_speed(1, 16, space="nasbench201"),))
    made = plan(5, speeds=speeds)
    assert made.search.space == "nasbench201"
    line = decided(made, "search")
    assert line.choice.startswith("nasbench201, 50 epochs, 1 cell per stage, 16 channels")
    assert "darts takes too long per round here" in line.reason
    assert "5 cells per stage" in decided(made, "random cell").choice
    assert "darts takes" not in decided(plan(5), "search").reason


def test_a_pretrained_model_takes_its_share_with_the_largest_images_that_leave_epochs():
    tuned = [speed("resnet18", 1, 1, side=side, step=side / 1000) for side in (64, 128, 224)]
    made = plan(3, speeds=replace(SPEEDS, pretrained=tuple(tuned)))
    assert (made.pretrained.cell, made.pretrained.side) == ("resnet18", 128)
    assert GOOD_FINE_TUNING <= made.pretrained.epochs <= MOST_FINE_TUNING
    assert LEAST_USED * 180 <= made.seconds <= AIM * 180
    assert "images enlarged to 128 pixels" in decided(made, "pretrained").choice
    assert decided(plan(3), "pretrained").reason == "no weights at hand"
    assert decided(plan(3, missing="none was wanted"), "pretrained").reason == "none was wanted"
    long = plan(30, speeds=replace(SPEEDS, pretrained=tuple(tuned)))
    assert (long.pretrained.side, long.pretrained.epochs) == (224, MOST_FINE_TUNING)
    assert "fine-tuning rarely gains after 20" in decided(long, "pretrained").reason
    short = plan(0.8, speeds=replace(SPEEDS, pretrained=tuple(tuned)))
    assert (short.pretrained.side, short.pretrained.epochs) == (64, LEAST_EPOCHS)
    assert "the smallest images" in decided(short, "pretrained").reason


def test_without_a_resnet_its_time_goes_to_the_others():
    made = plan(3, speeds=replace(SPEEDS, resnet=()))
    assert made.resnet is None
    assert decided(made, "ResNet").reason == "none obeys the limits"
    assert made.search.seconds > plan(3).search.seconds


def test_threads_are_said_where_they_were_measured():
    made = plan(3, speeds=replace(SPEEDS, threads=2))
    assert made.threads == 2
    assert decided(made, "computing").choice == "2 threads"
    assert not any(one.subject == "computing" for one in plan(3).decisions)


def test_limits_are_among_the_decisions():
    made = plan(3, limits="--max-params 1000")
    assert decided(made, "limits").choice == "--max-params 1000"
    assert not any(one.subject == "limits" for one in plan(3).decisions)
