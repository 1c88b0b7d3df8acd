"""Training the network of a cell: one step, whichever way it is executed.

`train_step` is the plain step. It reads no number on the host, so that on a GPU the same function can be
captured once and replayed (`captured`); rates are tensors that the host sets between steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from xnas.engine.capture import capture, copied, put_back
from xnas.engine.distributed import ALONE, Ranks
from xnas.engine.interfaces import Batches
from xnas.engine.restore import require_rounds, take_over, take_over_momenta
from xnas.engine.schedules import PowerCosine, scheduled_drop_path
from xnas.engine.targets import Mixing, Targets
from xnas.errors import RoundError
from xnas.space.network import Network


@dataclass(frozen=True, kw_only=True, slots=True)
class Optimization:
    """How weights learn: loss, optimizer and regularisation, apart from how long and how fast."""

    rate_by_step: bool = False
    """Whether the learning rate follows its schedule by the step, not by the epoch."""
    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 3e-4
    gradient_clip: float = 5.0
    """On the norm; 0 clips nothing."""
    label_smoothing: float = 0.0
    auxiliary_weight: float = 0.0
    drop_path_rate: float = 0.0
    """Its peak; the rate rises linearly towards it."""
    average: float = 0.0
    """Decay of a moving average of the weights; 0 keeps none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainSettings:
    """Numbers of a training."""

    epochs: int
    steps_per_epoch: int
    schedule: PowerCosine
    optimization: Optimization = Optimization()
    accumulate: int = 1
    """Parts of a batch that are computed one after another; batch statistics are those of a part."""
    autocast: bool = False


class Training:
    """A training under way: everything that changes from step to step."""

    def __init__(
        self,
        model: Network,
        batches: Batches,
        settings: TrainSettings,
        ranks: Ranks = ALONE,
        mixing: Mixing | None = None,
    ) -> None:
        self.model, self.batches, self.settings, self.ranks = model, batches, settings, ranks
        self.mixing = mixing
        if model.drop_path is not None:
            model.drop_path.part = ranks.part
        images, labels = batches.buffers()
        device = images.device
        first = next(p for p in model.parameters() if p.dim() == 4)
        if first.is_contiguous(memory_format=torch.channels_last):
            images = images.to(memory_format=torch.channels_last)
        self.batch = images.zero_(), labels.zero_()  # a step may be captured before the first batch
        self.rate = torch.tensor(settings.schedule.rate(0), device=device)
        self.optimizer = torch.optim.SGD(
            model.parameters(),
            lr=self.rate,  # a tensor, which a captured step reads anew
            momentum=settings.optimization.momentum,
            nesterov=settings.optimization.nesterov,
            weight_decay=settings.optimization.weight_decay,
            fused=True,
        )
        decay = settings.optimization.average
        self.average = Average(model, decay) if decay else None
        self.tally = torch.zeros(3, dtype=torch.float64, device=device)
        """Sum of losses, right answers, images of the epoch so far. Answers for mixed images count by
        the share of their label."""
        self.epoch, self.step_in_epoch = 0, 0
        self.forward: Callable[[Tensor], tuple[Tensor, ...]] = model.training_logits

    @property
    def device(self) -> torch.device:
        """Where steps are computed."""
        return self.batch[0].device

    @property
    def steps(self) -> int:
        """Steps so far."""
        return self.epoch * self.settings.steps_per_epoch + self.step_in_epoch

    def begin_epoch(self) -> None:
        """Lay down the order of the images, set the rates of the epoch, clear the tally."""
        self.batches.begin_epoch(self.epoch, self.settings.steps_per_epoch)
        self._begin_mixing()
        self._set_epochs_rates()
        self.model.train()
        self.tally.zero_()

    def _begin_mixing(self) -> None:
        if self.mixing is not None:
            self.mixing.begin_epoch(self.epoch, self.settings.steps_per_epoch, at=self.step_in_epoch)

    def set_rate(self) -> None:
        """The learning rate of the coming step, by the schedule."""
        s = self.settings
        part = self.step_in_epoch / s.steps_per_epoch if s.optimization.rate_by_step else 0.0
        self.rate.fill_(s.schedule.rate(self.epoch + part))

    def _set_epochs_rates(self) -> None:
        s = self.settings
        drop_path, peak = self.model.drop_path, s.optimization.drop_path_rate
        if drop_path is not None:
            rises = drop_path.rises
            drop_path.set_rate(scheduled_drop_path(self.epoch, s.epochs, peak) if rises else peak)
        self.set_rate()

    def end_epoch(self) -> tuple[float, float]:
        """Mean loss and accuracy on the training images; raises if the training came apart."""
        self.agree()
        self.require_finite()
        loss, right, images = self.tally.tolist()
        self.epoch, self.step_in_epoch = self.epoch + 1, 0
        return loss / images, right / images

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """Let the model have the moving average of its weights, if there is one, and take it back."""
        if self.average is None:
            yield
            return
        self.average.swap()
        try:
            yield
        finally:
            self.average.swap()

    def agree(self) -> None:
        """Average over all processes what may differ: batch statistics, their averages, the tally."""
        statistics = {n: b for n, b in self.model.named_buffers() if b.is_floating_point()}
        averages = self.average.state_dict() if self.average else {}
        means = [mean for name, mean in averages.items() if name in statistics]
        self.ranks.average([*statistics.values(), *means, self.tally])

    def require_finite(self) -> None:
        """Raise if losses of the epoch so far, or weights, are not finite: nothing can be kept of it."""
        loss = float(self.tally[0])
        floats = [t for t in self.model.state_dict().values() if t.is_floating_point()]
        if not math.isfinite(loss):
            fault = f"the training loss is {loss}"
        elif not bool(torch.stack([tensor.isfinite().all() for tensor in floats]).all()):
            fault = "weights are no longer finite numbers"
        else:
            return
        s = self.settings
        norm = s.optimization.gradient_clip
        clip = f"a smaller --gradient-clip than {norm:g}" if norm else "--gradient-clip 5"
        raise RoundError(
            f"{fault} in epoch {self.epoch + 1}; use a smaller learning rate than {s.schedule.top:.3g}, "
            f"{clip}{', --precision fp32' * s.autocast}"
        )

    def state_dict(self) -> dict[str, Any]:
        """Everything that changes: tensors and plain values."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "average": self.average.state_dict() if self.average else None,
            "batches": self.batches.state_dict(),
            "random": random_state(self.batch[0].device),
            "tally": self.tally,
            "epoch": self.epoch,
            "step_in_epoch": self.step_in_epoch,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where a training with the same settings stood."""
        self.model.load_state_dict(state["model"])
        take_over_momenta(self.optimizer, state["optimizer"])
        if self.average is not None:
            self.average.load_state_dict(state["average"])
        require_rounds(state["batches"], self.settings.steps_per_epoch)
        self.batches.load_state_dict(state["batches"])
        restore_random(state["random"], self.batch[0].device)
        take_over({"tally": self.tally}, state)
        self.epoch, self.step_in_epoch = state["epoch"], state["step_in_epoch"]
        if self.step_in_epoch:
            self._set_epochs_rates()
            self._begin_mixing()
        self.model.train()


class Average:
    """A moving average of weights and batch statistics."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.live = [t for t in model.state_dict().values() if t.is_floating_point()]
        self.names = [n for n, t in model.state_dict().items() if t.is_floating_point()]
        self.mean = [t.clone() for t in self.live]

    def update(self) -> None:
        """Move towards the weights as they are now."""
        torch._foreach_lerp_(self.mean, self.live, 1 - self.decay)

    def swap(self) -> None:
        """Put the averages in the place of the weights, and the weights in theirs; twice is nothing."""
        for live, mean in zip(self.live, self.mean, strict=True):
            kept = live.clone()
            live.copy_(mean)
            mean.copy_(kept)

    def state_dict(self) -> dict[str, Tensor]:
        """The averages, by the names of the model's tensors."""
        return dict(zip(self.names, self.mean, strict=True))

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Take averages over."""
        take_over(self.state_dict(), state)


def train_step(training: Training) -> None:
    """Set the rate, draw a batch, descend its loss."""
    _set_rate_of_step(training)
    training.batches.fill(*training.batch)
    descend(training)
    training.step_in_epoch += 1


def _set_rate_of_step(training: Training) -> None:
    if training.settings.optimization.rate_by_step:
        training.set_rate()


def descend(training: Training) -> None:
    """Mix the batch at hand if the training does so, and make one step of gradient descent on it."""
    s = training.settings
    smoothing = s.optimization.label_smoothing
    training.optimizer.zero_grad(set_to_none=True)
    for images, targets in _parts(training):
        with torch.autocast(images.device.type, dtype=torch.bfloat16, enabled=s.autocast):
            logits, *auxiliary = training.forward(images)
        loss = targets.loss(logits.float(), label_smoothing=smoothing)
        total = loss
        for extra in auxiliary:
            beside = targets.loss(extra.float(), label_smoothing=smoothing)
            total = total + s.optimization.auxiliary_weight * beside
        (total / s.accumulate).backward()  # type: ignore[no-untyped-call]
        count = torch.full_like(loss, len(images))
        counts = [loss.detach() * len(images), targets.right(logits.detach()), count]
        training.tally += torch.stack(counts).double()
    training.ranks.average([p.grad for p in training.model.parameters() if p.grad is not None])
    if s.optimization.gradient_clip:
        nn.utils.clip_grad_norm_(training.model.parameters(), s.optimization.gradient_clip)
    training.optimizer.step()
    if training.average is not None:
        training.average.update()


def _parts(training: Training) -> Iterator[tuple[Tensor, Targets]]:
    """Equal parts of the batch, which is mixed first if the training does so."""
    images, labels = training.batch
    mixed = training.mixing.mix(images, labels) if training.mixing is not None else None
    parts = training.settings.accumulate
    return zip(images.chunk(parts), Targets(labels, mixed).chunk(parts), strict=True)


def captured_step(training: Training) -> Callable[[], None]:
    """`train_step` as a CUDA graph, in an epoch that has begun; the training is left as it was.

    Batches that come from the host are drawn before each replay, all others inside it.
    """
    inside = training.batches.capturable

    def learn() -> None:
        if inside:
            training.batches.fill(*training.batch)
        descend(training)

    replay = capture(
        learn,
        training.device,
        restore=_restorer(training, batches=inside),
        generators=(training.batches.generator,) if inside else (),
    )

    def step() -> None:
        _set_rate_of_step(training)
        if not inside:
            training.batches.fill(*training.batch)
        replay()
        training.step_in_epoch += 1

    return step


def _restorer(training: Training, *, batches: bool) -> Callable[[], None]:
    """A function that restores the present state in place, with the batch source if `batches`."""
    before: dict[str, Any] = copied(training.state_dict())

    def restore() -> None:
        live = training.state_dict()
        for part in ("model", "optimizer", "average", "tally"):
            put_back(live[part], before[part])
        if batches:
            training.batches.load_state_dict(before["batches"])
        if training.mixing is not None:
            training.mixing.go_to(before["step_in_epoch"])
        restore_random(before["random"], training.batch[0].device)
        training.optimizer.zero_grad(set_to_none=True)

    return restore


@contextmanager
def own_randomness(device: torch.device, seed: int) -> Iterator[None]:
    """Let the device's generator follow `seed`, whatever ran before; afterwards it is as it was."""
    before = random_state(device)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        restore_random(before, device)


def random_state(device: torch.device) -> Tensor:
    """State of the device's own generator, which drop path draws from."""
    return torch.cuda.get_rng_state(device) if device.type == "cuda" else torch.get_rng_state()


def restore_random(state: Tensor, device: torch.device) -> None:
    """Put the device's generator back."""
    if device.type == "cuda":
        torch.cuda.set_rng_state(state.cpu(), device)
    else:
        torch.set_rng_state(state.cpu())
