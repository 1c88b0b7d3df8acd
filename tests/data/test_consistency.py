"""Names, labels and shapes that do not fit together are refused, in memory and in files alike."""

import pytest
import torch

from xnas.data.consistency import Part, require_labelled, require_names, require_statistics
from xnas.errors import DatasetError

LABELS = torch.tensor([0, 1, 0, 1])


def part(shape=(4, 3, 8, 8), labels=LABELS):
    return Part("images", shape, labels)


def test_a_dataset_that_fits_together_passes():
    require_names("mine", ("a", "b"))
    require_labelled("mine", ("a", "b"), part(), Part("test images", None, None))
    require_statistics("mine", 1, (0.5,), (0.2,))


@pytest.mark.parametrize(
    ("train", "test", "words"),
    [
        (part(labels=LABELS.int()), part(), "labels of mine must be int64"),
        (part((5, 3, 8, 8)), part(), r"must be int64 \(5,\), one for each of its images"),
        (part((4, 3, 7, 9)), part(), "are 7 x 9 pixels; they need 8 per side"),
        (part((4, 0, 8, 8)), part(), "mine has no images"),
        (part(labels=LABELS + 1), part(), r"run from 1 to 2; with 2 classes they must lie in 0..1"),
        (part(labels=LABELS * 0), part(), "no training image of class 'b'"),
        (part(), Part("test images", None, LABELS), "test images or test labels alone"),
        (part(), part((4, 1, 8, 8)), "bring both to one shape"),
    ],
)
def test_parts_that_do_not_fit_are_refused(train, test, words):
    with pytest.raises(DatasetError, match=words):
        require_labelled("mine", ("a", "b"), train, test)


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (("a",), "too few classes"),
        (("a", "a"), "two classes called 'a'"),
        ("ab", "must be a tuple of their names"),
        (("a", "b" * 1001), "has 1,001 characters; a name may have 1000"),
        (("a", "\udce9"), "is not UTF-8 text"),
    ],
)
def test_names_that_files_cannot_hold_or_distinguish_are_refused(classes, words):
    with pytest.raises(DatasetError, match=words):
        require_names("mine", classes)


@pytest.mark.parametrize(("mean", "std"), [((0.5, 0.5), (0.2,)), ((0.5,), ()), ((0.5,), (0.0,))])
def test_statistics_of_other_channels_or_without_deviation_are_refused(mean, std):
    with pytest.raises(DatasetError, match="of mine"):
        require_statistics("mine", 1, mean, std)
