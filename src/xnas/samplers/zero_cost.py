"""Zero-cost proxies: what an untrained network shows of its cell, from one batch of images.

A proxy maps a network with random weights and images (batch, channels, height, width) to one number,
larger for better. Numbers of one proxy can be compared, for networks of the same sizes. Among the cells
of NAS-Bench-201 the number of parameters ranks as well as most of them do, so a proxy has to beat that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from xnas.registry import Registry
from xnas.space import count_macs, count_parameters

Proxy = Callable[[nn.Module, Tensor], float]
PROXIES: Registry[Proxy] = Registry("zero-cost proxy")
"""Name -> function (network, images) -> score, larger for better; add your own with `PROXIES.add`."""

WORST = -math.inf
"""The score of a network that shows nothing, such as one whose cells pass nothing on."""
JACOBIAN_OFFSET = 1e-5  # k of jacob_cov, which bounds the penalty of two equal rows
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


@PROXIES.register("params")
def params(model: nn.Module, images: Tensor) -> float:  # noqa: ARG001 - all proxies are called alike
    """Number of parameters."""
    return float(count_parameters(model))


@PROXIES.register("macs")
def macs(model: nn.Module, images: Tensor) -> float:
    """Multiply-accumulates for one image of the size of `images` (batch, channels, height, width)."""
    return float(count_macs(model, tuple(images.shape[1:])))


@PROXIES.register("synflow")
def synflow(model: nn.Module, images: Tensor) -> float:
    """Sum of |w ∂R/∂w| over the weights of all layers (arXiv 2006.05467, eq. 5; 2101.08134, Sec. 3.2).

    R is the sum of the outputs for one image of ones, with every parameter replaced by its absolute
    value and without batch norms. A sum grows with the product of all layers, hence float64. Of `images`
    (batch, channels, height, width) only the size is used. The model is left as it was.
    """
    ones = torch.ones_like(images[:1], dtype=torch.float64)
    layers = [module for module in model.modules() if isinstance(module, nn.Conv2d | nn.Linear)]
    weights = [layer.weight for layer in layers]
    with ExitStack() as borrowed:
        borrowed.enter_context(_in_mode(model, training=False))
        borrowed.enter_context(_positive_float64(model))
        borrowed.enter_context(_without_norms(model))
        gradients = torch.autograd.grad(model(ones).sum(), weights, materialize_grads=True)
        terms = [
            float((weight * gradient).detach().abs().sum())
            for weight, gradient in zip(weights, gradients, strict=True)
        ]
    return sum(terms)


@PROXIES.register("jacob_cov")
def jacob_cov(model: nn.Module, images: Tensor) -> float:
    """How differently a network answers to different images (arXiv 2006.04647, first version, eq. 2).

    Rows are the gradients of the sum of all logits by each image of `images` (batch, channels, height,
    width). `jacobian_score` judges their correlations.
    """
    images = images.detach().clone().requires_grad_()
    with _in_mode(model, training=True), _kept_buffers(model):
        logits: Tensor = model(images)
        if not logits.requires_grad:
            return WORST
        (gradient,) = torch.autograd.grad(logits.sum(), images, materialize_grads=True)
    return jacobian_score(gradient.flatten(1))


def jacobian_score(rows: Tensor) -> float:
    """Return -Σ [log(l + k) + 1 / (l + k)] over the eigenvalues l of the rows' correlation matrix.

    `rows` is (batch, values); k is 1e-5. A row without any spread makes it minus infinity.
    """
    rows = rows.double()
    centred = rows - rows.mean(1, keepdim=True)
    lengths = centred.norm(dim=1, keepdim=True)
    if not bool(((lengths > 0) & lengths.isfinite()).all()):
        return WORST
    centred = centred / lengths
    shifted = torch.linalg.eigvalsh(centred @ centred.t()).clamp(min=0) + JACOBIAN_OFFSET
    return -float((shifted.log() + 1 / shifted).sum())


@PROXIES.register("naswot")
def naswot(model: nn.Module, images: Tensor) -> float:
    """Return log |det K|, where K counts equal bits of two images' codes (arXiv 2006.04647, eq. 2).

    The code of one of the `images` (batch, channels, height, width) has a bit for every input of every
    ReLU: whether it is positive.
    """
    with _in_mode(model, training=True), _kept_buffers(model), torch.no_grad():
        codes = ReluCodes()
        with codes:
            model(images)
    return codes.score()


class ReluCodes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Collects the codes of all ReLUs that compute inside its `with`, modules and calls alike.

    >>> with ReluCodes() as codes:
    ...     _ = torch.tensor([[1.0, 2.0, -1.0], [1.0, -1.0, -2.0]]).relu()
    >>> codes.relus, codes.equal_bits.tolist()
    (1, [[3.0, 2.0], [2.0, 3.0]])
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.relus = 0
        self.equal_bits = torch.zeros((), dtype=torch.float64)
        """K, (batch, batch): in how many bits the codes of two images agree."""

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - an operator of torch
        types: Any,  # noqa: ANN401
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        """Note what a ReLU reads, and compute on."""
        if func in (torch.ops.aten.relu.default, torch.ops.aten.relu_.default):
            self.see(args[0])
        return func(*args, **kwargs or {})

    def see(self, x: Tensor) -> None:
        """Add the bits of one ReLU's input (batch, ...)."""
        signs = (x.flatten(1) > 0).float() * 2 - 1  # equal bits minus different ones; exact up to 2^24
        self.relus += 1
        self.equal_bits = self.equal_bits + (signs.shape[1] + (signs @ signs.t()).double()) / 2

    def score(self) -> float:
        """Return log |det K|; minus infinity if two images have the same code."""
        return float(torch.linalg.slogdet(self.equal_bits).logabsdet) if self.relus else WORST


@contextmanager
def _in_mode(model: nn.Module, *, training: bool) -> Iterator[None]:
    """The whole model in training or in evaluation, and every module as it was afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.train(training)
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def _kept_buffers(model: nn.Module) -> Iterator[None]:
    """Running statistics as they were afterwards."""
    before = [buffer.clone() for buffer in model.buffers()]
    try:
        yield
    finally:
        for buffer, value in zip(model.buffers(), before, strict=True):
            buffer.copy_(value)


@contextmanager
def _positive_float64(model: nn.Module) -> Iterator[None]:
    """Absolute values of all parameters in float64, and the parameters as they were afterwards."""
    tensors = [*model.parameters(), *(b for b in model.buffers() if b.is_floating_point())]
    before = [tensor.data for tensor in tensors]
    try:
        for tensor in tensors:
            tensor.data = tensor.data.double().abs()
        yield
    finally:
        for tensor, value in zip(tensors, before, strict=True):
            tensor.data = value


@contextmanager
def _without_norms(model: nn.Module) -> Iterator[None]:
    """Batch norms that give what they were given."""
    norms = [module for module in model.modules() if isinstance(module, NORMS)]
    hooks = [norm.register_forward_hook(lambda _, inputs, __: inputs[0]) for norm in norms]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
