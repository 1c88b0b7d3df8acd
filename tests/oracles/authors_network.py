"""The authors' network in plain functions over a state dict of their layout.

A network is nothing but its tensors here: `make_state` draws them by name, `logits` computes with them.
Names and shapes are facts of their evaluation code (github.com/NivNayman/XNAS); the functions follow the
paper's description and share nothing with the package.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

State = dict[str, Tensor]

NORMAL = (
    ("sep_conv_3x3", 1), ("skip_connect", 0), ("sep_conv_3x3", 0), ("sep_conv_3x3", 2),
    ("sep_conv_3x3", 3), ("sep_conv_3x3", 1), ("dil_conv_5x5", 4), ("sep_conv_3x3", 0),
)  # fmt: skip
REDUCE = (
    ("max_pool_3x3", 0), ("avg_pool_3x3", 1), ("avg_pool_3x3", 0), ("skip_connect", 2),
    ("dil_conv_3x3", 3), ("max_pool_3x3", 0), ("dil_conv_5x5", 4), ("avg_pool_3x3", 0),
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """Sizes of one network of theirs."""

    channels: int = 4
    layers: int = 5
    classes: int = 10
    imagenet: bool = False
    excitation: bool = False
    stem: int = 12
    normal: tuple[tuple[str, int], ...] = NORMAL
    reduce: tuple[tuple[str, int], ...] = REDUCE

    def reduces(self, layer: int) -> bool:
        return layer in (self.layers // 3, 2 * self.layers // 3)

    def excites(self, layer: int) -> bool:
        return self.excitation and layer <= self.layers * 2 / 3


def make_state(plan: Plan) -> State:  # noqa: C901 - one network, from stem to classifier
    """Random tensors under all names that their network of this plan has."""
    state: State = {}

    def convolution(name: str, outputs: int, inputs: int, kernel: int) -> None:
        spread = (inputs * kernel * kernel) ** -0.5
        state[f"{name}.weight"] = torch.randn(outputs, inputs, kernel, kernel) * spread

    def norm(name: str, channels: int) -> None:
        state[f"{name}.weight"] = torch.rand(channels) + 0.5
        state[f"{name}.bias"] = torch.randn(channels) * 0.1
        state[f"{name}.running_mean"] = torch.randn(channels) * 0.1
        state[f"{name}.running_var"] = torch.rand(channels) + 0.5
        state[f"{name}.num_batches_tracked"] = torch.tensor(7)

    def factorized(name: str, inputs: int, outputs: int) -> None:
        convolution(f"{name}.conv_1", outputs // 2, inputs, 1)
        convolution(f"{name}.conv_2", outputs // 2, inputs, 1)
        norm(f"{name}.bn", outputs)

    def one_by_one(name: str, inputs: int, outputs: int) -> None:
        convolution(f"{name}.op.1", outputs, inputs, 1)
        norm(f"{name}.op.2", outputs)

    def operation(name: str, what: str, width: int, stride: int) -> None:
        if what.startswith(("sep_conv", "dil_conv")):
            for first in (1, 5) if what.startswith("sep") else (1,):
                convolution(f"{name}.op.{first}", width, 1, int(what[-1]))
                convolution(f"{name}.op.{first + 1}", width, width, 1)
                norm(f"{name}.op.{first + 2}", width)
        elif what == "skip_connect" and stride == 2:
            factorized(name, width, width)

    if plan.imagenet:
        convolution("stem0.0", plan.stem // 2, 3, 3)
        norm("stem0.1", plan.stem // 2)
        convolution("stem0.3", plan.stem, plan.stem // 2, 3)
        norm("stem0.4", plan.stem)
        convolution("stem1.1", plan.stem, plan.stem, 3)
        norm("stem1.2", plan.stem)
    else:
        convolution("stem.0", plan.stem, 3, 3)
        norm("stem.1", plan.stem)

    older, newer, width, after_reduction = plan.stem, plan.stem, plan.channels, plan.imagenet
    for layer in range(plan.layers):
        cell, reduction = f"cells.{layer}", plan.reduces(layer)
        width = 2 * width if reduction else width
        (factorized if after_reduction else one_by_one)(f"{cell}.preprocess0", older, width)
        one_by_one(f"{cell}.preprocess1", newer, width)
        for index, (what, source) in enumerate(plan.reduce if reduction else plan.normal):
            stride = 2 if reduction and source < 2 else 1
            operation(f"{cell}._ops.{index}", what, width, stride)
        if plan.excites(layer):
            hidden = 4 * width // (4 if width == plan.channels else 8)
            state[f"cells_SE.{layer}.fc.0.weight"] = torch.randn(hidden, 4 * width)
            state[f"cells_SE.{layer}.fc.2.weight"] = torch.randn(4 * width, hidden)
        older, newer, after_reduction = newer, 4 * width, reduction
    state["classifier.weight"] = torch.randn(plan.classes, newer)
    state["classifier.bias"] = torch.randn(plan.classes)
    return state


def logits(plan: Plan, state: State, images: Tensor) -> Tensor:  # noqa: C901 - likewise
    """What their network in evaluation mode says of images."""

    def norm(name: str, x: Tensor) -> Tensor:
        get = [state[f"{name}.{key}"] for key in ("running_mean", "running_var", "weight", "bias")]
        return F.batch_norm(x, *get)

    def one_by_one(name: str, x: Tensor) -> Tensor:
        return norm(f"{name}.op.2", F.conv2d(x.relu(), state[f"{name}.op.1.weight"]))

    def factorized(name: str, x: Tensor) -> Tensor:
        x = x.relu()
        half = F.conv2d(x[:, :, ::2, ::2], state[f"{name}.conv_1.weight"])
        other = F.conv2d(x[:, :, 1::2, 1::2], state[f"{name}.conv_2.weight"])
        return norm(f"{name}.bn", torch.cat([half, other], 1))

    def depthwise(name: str, x: Tensor, first: int, stride: int, dilation: int) -> Tensor:
        kernel = state[f"{name}.op.{first}.weight"]
        padding = dilation * (kernel.shape[-1] // 2)
        x = F.conv2d(x.relu(), kernel, None, stride, padding, dilation, groups=len(kernel))
        return norm(f"{name}.op.{first + 2}", F.conv2d(x, state[f"{name}.op.{first + 1}.weight"]))

    def operation(name: str, what: str, x: Tensor, stride: int) -> Tensor:
        if what.startswith("sep_conv"):
            return depthwise(name, depthwise(name, x, 1, stride, 1), 5, 1, 1)
        if what.startswith("dil_conv"):
            return depthwise(name, x, 1, stride, 2)
        if what == "max_pool_3x3":
            return F.max_pool2d(x, 3, stride, 1)
        if what == "avg_pool_3x3":
            return F.avg_pool2d(x, 3, stride, 1, count_include_pad=False)
        return x if stride == 1 else factorized(name, x)

    def three_by_three(name: str, x: Tensor, stride: int) -> Tensor:
        return F.conv2d(x, state[f"{name}.weight"], None, stride, 1)

    if plan.imagenet:
        x = norm("stem0.1", three_by_three("stem0.0", images, 2)).relu()
        older = norm("stem0.4", three_by_three("stem0.3", x, 2))
        newer = norm("stem1.2", three_by_three("stem1.1", older.relu(), 2))
    else:
        older = newer = norm("stem.1", three_by_three("stem.0", images, 1))

    for layer in range(plan.layers):
        cell, reduction = f"cells.{layer}", plan.reduces(layer)
        shrink = f"{cell}.preprocess0.conv_1.weight" in state
        states = [
            (factorized if shrink else one_by_one)(f"{cell}.preprocess0", older),
            one_by_one(f"{cell}.preprocess1", newer),
        ]
        edges = plan.reduce if reduction else plan.normal
        for index in range(0, len(edges), 2):
            total = torch.zeros(())
            for edge in (index, index + 1):
                what, source = edges[edge]
                stride = 2 if reduction and source < 2 else 1
                total = total + operation(f"{cell}._ops.{edge}", what, states[source], stride)
            states.append(total)
        out = torch.cat(states[2:], 1)
        if plan.excites(layer):
            hidden = (out.mean((2, 3)) @ state[f"cells_SE.{layer}.fc.0.weight"].T).relu()
            out = out * torch.sigmoid(hidden @ state[f"cells_SE.{layer}.fc.2.weight"].T)[..., None, None]
        older, newer = newer, out
    return newer.mean((2, 3)) @ state["classifier.weight"].T + state["classifier.bias"]
