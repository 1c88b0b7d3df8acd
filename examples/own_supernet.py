"""Search a supernet of your own: choose the block of each of two stages.

The engine needs two things from a supernet: `mixtures`, a dictionary of parameters, and `wipe`, which
deletes experts. It plays the rounds, deletes experts that can no longer win, and records every epoch.

    python examples/own_supernet.py
"""

import torch
from torch import Tensor, nn

from xnas import ExpertsOptimizer, Forecaster, uniform_mixture
from xnas.data import BatchSettings, BatchSource, halves, load_data, rounds
from xnas.engine import Search, SearchSettings, end_epoch, play_round

BLOCKS = ("conv_3x3", "conv_1x1", "pool", "identity")
EPOCHS, BATCH = 6, 32


def block(name: str, channels: int) -> nn.Module:
    """One candidate block: the layer of that name with a batch norm."""
    layers = {
        "conv_3x3": nn.Conv2d(channels, channels, 3, padding=1),
        "conv_1x1": nn.Conv2d(channels, channels, 1),
        "pool": nn.AvgPool2d(3, 1, 1),
        "identity": nn.Identity(),
    }
    return nn.Sequential(layers[name], nn.BatchNorm2d(channels, affine=False))


class TwoStages(nn.Module):
    """Stem, two undecided stages, classifier."""

    mixture_parameters = ("choice",)  # these parameters are not network weights

    def __init__(self, classes: int, channels: int = 8) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 3, padding=1)
        self.stages = nn.ModuleList(
            Forecaster({name: block(name, channels) for name in BLOCKS}, own_mixture=False)
            for _ in range(2)
        )
        self.head = nn.Linear(channels, classes)
        self.choice = uniform_mixture(len(self.stages), len(BLOCKS))

    @property
    def mixtures(self) -> dict[str, nn.Parameter]:
        """The parameters that the method learns, by name."""
        return {"stages": self.choice}

    def wipe(self, kind: str, forecaster: int, experts: list[int]) -> None:  # noqa: ARG002 - one kind here
        """Delete these experts of one stage."""
        self.stages[forecaster].wipe([BLOCKS[expert] for expert in experts])

    def forward(self, x: Tensor) -> Tensor:
        """Return logits of shape (batch, classes)."""
        x = self.stem(x)
        for stage, mixture in zip(self.stages, self.choice, strict=True):
            x = stage(x, mixture).relu()
        return self.head(x.mean((-2, -1)))


def main() -> None:
    """Search on the digits, and print one line per epoch."""
    torch.manual_seed(0)
    data = load_data("digits")
    train, valid = halves(data.labels, seed=0)
    per_epoch = rounds(len(valid), BATCH)

    def source(name: str, indices: Tensor) -> BatchSource:
        images, labels = data.images, data.labels
        shared = {"batch_size": BATCH, "mean": data.mean, "std": data.std, "seed": 0}
        return BatchSource(images, labels, indices, BatchSettings(name=name, **shared))

    model = TwoStages(len(data.classes))
    method = ExpertsOptimizer([model.choice], horizon=EPOCHS * per_epoch, relaxation=0.02)
    search = Search(
        model,
        method,
        train=source("training", train),
        valid=source("validation", valid),
        settings=SearchSettings(epochs=EPOCHS, rounds_per_epoch=per_epoch, learning_rate=0.1),
    )
    for _ in range(EPOCHS):
        search.begin_epoch()
        for _ in range(per_epoch):
            play_round(search)
        record = end_epoch(search)
        gone = ", ".join(f"{BLOCKS[d.expert]} of stage {d.forecaster}" for d in record.deleted)
        print(
            f"epoch {record.epoch}: {100 * record.valid_accuracy:.0f} %"
            + (f"; gone: {gone}" if gone else "")
        )
    print("chosen:", ", ".join(" or ".join(stage.experts) for stage in model.stages))


if __name__ == "__main__":
    main()
