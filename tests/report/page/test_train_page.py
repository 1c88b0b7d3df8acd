"""The page of a training in all its states."""

from dataclasses import replace

import pages

from xnas.report.page.blocks import DataTable, Facts, HeatMap, Pictures, Text
from xnas.report.page.stories import Mistake, RunHead, TrainStory
from xnas.report.page.train_page import MOST_CLASSES, calibration_chart, train_charts, train_page


def page(**changes):
    given = {"head": RunHead(path="run", data="pets"), "epochs": tuple(pages.trained())}
    given |= {"epochs_planned": 3, "test": pages.evaluation(), "parameters": 9000, "macs": 1_500_000}
    mistake = Mistake(png=b"x", index=3, label="cat", answer="dog", probability=0.875)
    return train_page(TrainStory(**given | {"mistakes": (mistake,)} | changes))


def facts(drawn):
    (block,) = [block for block in drawn.summary if isinstance(block, Facts)]
    return {fact.name: fact for fact in block.facts}


def of_kind(drawn, kind):
    return [b for s in drawn.sections for b in s.blocks if isinstance(b, kind)]


def test_the_first_screen_says_how_good_the_network_is():
    found = facts(page())
    assert found["Test accuracy"].value == "95.00 %"
    assert found["Held-out accuracy"].note == "the best, after epoch 3"
    assert found["Parameters"].note == "1.5 M multiply-adds per image"
    assert found["Time"].value == "12 s"


def test_classes_have_a_matrix_and_a_table():
    (matrix,) = of_kind(page(), HeatMap)
    assert matrix.caption.startswith("Images of each true class")  # what its cells show
    assert matrix.counts == ((9, 1), (0, 10))
    assert matrix.shares[0] == (0.9, 0.1)
    table = next(t for t in of_kind(page(), DataTable) if t.caption.startswith("Accuracy by class"))
    assert table.rows == (("cat", "10", "90.0 %", "dog (1)"), ("dog", "10", "100.0 %", ""))


def test_a_matrix_of_too_many_classes_is_not_drawn():
    many = page(test=pages.evaluation(*(f"class {k}" for k in range(MOST_CLASSES + 1))))
    assert of_kind(many, HeatMap) == []
    assert Text("A confusion matrix of 61 classes is not drawn.") in of_kind(many, Text)


def test_a_class_without_images_has_no_accuracy():
    test = replace(
        pages.evaluation(), accuracies=(None, 1.0), counts=(0, 10), confusion=((0, 0), (0, 10))
    )
    table = next(t for t in of_kind(page(test=test), DataTable) if t.caption.startswith("Accuracy"))
    assert table.rows[0][2] == ""
    assert of_kind(page(test=test), HeatMap)[0].shares[0] == (0.0, 0.0)


def test_worst_mistakes_are_pictures_with_both_classes():
    (block,) = of_kind(page(), Pictures)
    assert block.pictures[0].caption == "dog (88 %), in truth cat"
    assert block.pictures[0].alt == "test image 3, a cat taken for a dog"


def test_a_training_under_way_has_curves_and_no_test():
    early = page(test=None, mistakes=(), parameters=None, macs=None)
    assert set(facts(early)) == {"Held-out accuracy", "Epochs", "Time"}
    assert [s.title for s in early.sections if s.blocks] == ["Curves"]
    assert train_page(TrainStory(head=RunHead(path="run"))).summary


def test_without_held_out_images_there_is_one_line():
    bare = tuple(replace(e, valid_accuracy=None, valid_loss=None) for e in pages.trained())
    accuracy, loss, rate, seconds = train_charts(bare)
    assert accuracy.names == loss.names == ("training",)
    assert rate.panels[0].series[0].values == (0.1, 0.05, 0.1 / 3)
    assert seconds.panels[0].series[0].values == (4.0, 4.0, 4.0)
    assert train_charts(()) == ()


def test_calibration_leaves_empty_bins_out():
    chart = calibration_chart(pages.evaluation())
    assert chart.places == (0.9,)
    assert chart.panels[0].series[0].values == (0.95,)
    assert "5.00 %" in chart.caption
