"""A classifier answers images of any kind with names of classes."""

import pytest
import torch

import xnas
from xnas.errors import ConfigError, DatasetError


def test_an_answer_has_a_label_a_probability_and_runners_up(classifier, pictures):
    paths, images = pictures
    shares = classifier.logits(images).softmax(-1)
    answers = classifier.predict(paths, top=3)
    assert len(answers) == 3
    for answer, share in zip(answers, shares, strict=True):
        order = share.argsort(descending=True)[:3].tolist()
        assert [name for name, _ in answer.ranking] == [classifier.classes[k] for k in order]
        assert (answer.label, answer.probability) == answer.ranking[0]
        assert answer.probability == pytest.approx(float(share.max()), rel=1e-5)
    (alone,) = classifier.predict(paths[0])
    assert alone.label == answers[0].label
    assert alone.probability == pytest.approx(answers[0].probability, rel=1e-5)  # another batch size
    assert len(alone.ranking) == 1
    assert len(classifier.predict(paths[0], top=99)[0].ranking) == 10
    assert sum(p for _, p in classifier.predict(paths[0], top=99)[0].ranking) == pytest.approx(1)


def test_a_classifier_is_printed_with_its_network_classes_and_size(classifier):
    spec = classifier.card.network
    network = f"cifar network of {spec.cells} cells and {spec.channels} channels"
    assert repr(classifier) == f"Classifier({network}, 10 classes, images of 1 x 8 x 8)"


def test_many_images_are_read_batch_by_batch(classifier, monkeypatch):
    monkeypatch.setattr("xnas.model.classifier.BATCH", 4)
    largest = []
    hook = classifier.model.register_forward_pre_hook(lambda _, given: largest.append(len(given[0])))
    made = []

    def images():
        for index in range(10):
            made.append(index)
            yield torch.full((1, 8, 8), index, dtype=torch.uint8)

    steps = classifier._answers(images())
    next(steps)
    assert len(made) == 4  # the others are not even made yet
    list(steps)
    hook.remove()
    assert largest == [4, 4, 2]
    assert classifier.predict([]) == []


@pytest.mark.parametrize("given", [None, 3, ""])
def test_what_is_no_path_is_no_run(given):
    with pytest.raises(ConfigError, match=f"a run is the path of its folder, got {given!r}; give"):
        xnas.load(given)


def test_top_and_device_have_to_be_possible(classifier, run):
    image = torch.zeros(1, 8, 8, dtype=torch.uint8)
    with pytest.raises(ConfigError, match=r"top must be a whole number, got 1\.5"):
        classifier.predict(image, top=1.5)
    with pytest.raises(ConfigError, match="top must be at least 1, got 0"):
        classifier.predict([], top=0)
    with pytest.raises(ConfigError, match="no such device: 'gpu'"):
        xnas.load(run, device="gpu")


def test_files_come_with_their_answers_or_with_what_is_wrong(classifier, pictures, tmp_path):
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no image")
    files = [pictures[0][0], bad, pictures[0][1]]
    found = dict(classifier.predict_files(files, skip_bad_images=True))
    assert list(found) == files
    assert isinstance(found[bad], DatasetError)
    expected = classifier.predict([pictures[0][0], pictures[0][1]])
    assert [found[files[0]].label, found[files[2]].label] == [answer.label for answer in expected]
    with pytest.raises(DatasetError, match=r"cannot read the image .*bad\.png"):
        list(classifier.predict_files(files))


def test_answers_that_are_not_finite_are_refused(classifier, pictures):
    bias = classifier.model.classifier.bias
    before = bias.data.clone()
    bias.data[0] = float("nan")
    try:
        with pytest.raises(ConfigError, match="the network's answers are not finite numbers"):
            classifier.predict(pictures[1])
    finally:
        bias.data.copy_(before)
