"""Parameters of many modules in one tensor, so that one call can compute with all of them.

Each parameter becomes a view of its slot in the packed tensor, and its gradient a view of the packed
gradient: modules, optimizers, checkpoints and deletions work as before. After a
deletion those that are left are packed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

View = Callable[[Tensor], Tensor]


def pack(parameters: Sequence[nn.Parameter], *, packed: View, unpacked: View) -> Tensor:
    """A leaf tensor (slots, ...) that shares its memory with the parameters.

    `packed` and `unpacked` are views and each other's inverse: what a slot holds of a parameter, and a
    parameter of a slot. The leaf stands for the parameters in backward; its gradient reaches them.
    """
    with torch.no_grad():
        together = torch.stack([packed(p.detach()) for p in parameters])
    for slot, parameter in zip(together, parameters, strict=True):
        parameter.data = unpacked(slot)

    def hand_out(leaf: Tensor) -> None:
        assert leaf.grad is not None  # noqa: S101 - the hook runs after accumulation
        for slot, parameter in zip(leaf.grad, parameters, strict=True):
            parameter.grad = unpacked(slot)
        leaf.grad = None

    together.requires_grad_()
    together.register_post_accumulate_grad_hook(hand_out)  # type: ignore[no-untyped-call]
    return together


def pack_buffers(modules: Sequence[nn.Module], name: str) -> Tensor:
    """A tensor (slots, ...) that shares its memory with a buffer of every module."""
    return share_buffers([[module] for module in modules], name)


def share_buffers(families: Sequence[Sequence[nn.Module]], name: str) -> Tensor:
    """A tensor (families, ...) each of whose slots is the buffer of all modules of a family.

    For modules whose statistics are the same at any time, because they see the same.
    """
    together = torch.stack([family[0].get_buffer(name) for family in families])
    for slot, family in zip(together, families, strict=True):
        for module in family:
            module.register_buffer(name, slot)
    return together


def own_buffers(module: nn.Module) -> None:
    """Give every module buffers of its own again."""
    for child in module.modules():
        for name, buffer in child.named_buffers(recurse=False):
            if name not in child._non_persistent_buffers_set:
                child.register_buffer(name, buffer.clone())
