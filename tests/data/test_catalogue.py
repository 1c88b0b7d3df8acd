"""The catalogue and the loaders name the same datasets, and places are looked at in a stated order."""

from xnas.data import CATALOGUE, DATASETS, load_data


def test_every_dataset_is_described_and_every_description_can_be_loaded():
    assert set(CATALOGUE) == set(DATASETS)
    for name, known in CATALOGUE.items():
        assert known.name == name
        assert known.obtain
        assert known.files or known.marks or name == "digits"
        assert bool(known.folds) != bool(known.test_examples)


def test_the_digits_are_as_described():
    known, data = CATALOGUE["digits"], load_data("digits")
    assert (len(data.images), len(data.test_images)) == (known.examples, known.test_examples)
    assert (data.channels, data.size, data.flip) == (known.channels, known.size, known.flip)


def test_published_sizes_follow_from_counts():
    fashion = {file.name: file.size for file in CATALOGUE["fashion_mnist"].files}
    assert fashion["train-images-idx3-ubyte"] == 16 + 60_000 * 28 * 28
    assert fashion["t10k-labels-idx1-ubyte"] == 8 + 10_000
    assert CATALOGUE["svhn"].examples == 73_257 + 531_131
