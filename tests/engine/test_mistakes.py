"""The surest wrong answers are kept, whatever the batches."""

import torch

from xnas.engine.evaluate import evaluate
from xnas.engine.mistakes import Mistakes

LOGITS = torch.tensor([[4.0, 0], [0, 1], [3, 0], [2, 0], [0, 2], [1, 0]])
LABELS = torch.tensor([1, 1, 1, 0, 0, 1])  # wrong are 0, 2, 4 and 5, the surest first 0, 2, 4, 5
IMAGES = torch.arange(6.0).view(6, 1, 1, 1)


def collect(most, batch):
    found = Mistakes(most)
    for at in range(0, 6, batch):
        found.add(IMAGES[at : at + batch], LOGITS[at : at + batch], LABELS[at : at + batch])
    return found.worst()


def test_the_surest_wrong_answers_come_first_however_images_are_batched():
    for batch in (1, 2, 6):
        worst = collect(3, batch)
        assert [one.index for one in worst] == [0, 2, 4]
        assert [(one.label, one.answer) for one in worst] == [(1, 0), (1, 0), (0, 1)]
        assert [float(one.image) for one in worst] == [0, 2, 4]
        assert worst[0].probability == torch.softmax(LOGITS[0].double(), 0)[0]


def test_fewer_mistakes_than_asked_for_are_all_kept():
    assert [one.index for one in collect(10, 2)] == [0, 2, 4, 5]


def test_an_evaluation_hands_over_every_batch():
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(1, 2))
    with torch.no_grad():
        model[1].weight.zero_()
        model[1].bias.copy_(torch.tensor([1.0, 0.0]))
    found = Mistakes(10)
    test = evaluate(model, [(IMAGES, LABELS)], ("a", "b"), follow=found.add)
    assert len(found.worst()) == round(6 * (1 - test.top1)) == 4
