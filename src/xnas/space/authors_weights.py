"""Weights of the paper's authors: checkpoints in the layout of their evaluation code, read and written.

Their network and ours have the same tensors under other names: `cells.3._ops.0.op.1.weight` is what
`cells.3.edges.0.1.weight` is here. The names follow from the structure of a `Network`, so that one walk
along it translates networks of any cell and size.

The file may be a state dict or hold one as `model` or `state_dict`, as saved from several devices or
from one. An auxiliary head in it is left aside.
"""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from reprlib import repr as brief
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from xnas.errors import ConfigError
from xnas.files import open_plain
from xnas.nn.excitation import SqueezeExcitation
from xnas.nn.heads import ImagenetStem
from xnas.nn.operations import FactorizedReduction
from xnas.space.network import Cell, CellNetwork, Network

WRAPPERS = ("model", "state_dict")
"""Keys under which a checkpoint may hold its state dict."""
SEVERAL_DEVICES = "module."
"""What every name begins with when the network was saved from several devices."""
AUXILIARY = "auxiliary_head."
COUNTER = "num_batches_tracked"
"""A buffer of batch norms that files of old torch versions lack; it decides nothing here."""

_scalar: Any = np.float64(0).__reduce__()[0]
NUMPY_SCALARS: list[Any] = [
    *(type(np.dtype(kind)) for kind in ("f4", "f8", "i4", "i8")),
    np.dtype,
    (_scalar, "numpy.core.multiarray.scalar"),
    (_scalar, "numpy._core.multiarray.scalar"),
]
"""What a best accuracy stored with the weights may consist of; these names run no code of the file."""

ONE_SEQUENCE = frozenset(
    f"{name}_{size}x{size}"
    for name, sizes in {"sep_conv": (3, 5, 7), "dil_conv": (3, 5)}.items()
    for size in sizes
)
"""Operations that are one sequence of the same layers there and here."""
WITHOUT_WEIGHTS = frozenset({"none", "max_pool_3x3", "avg_pool_3x3"})

Prefixes = Iterator[tuple[str, str]]
"""Pairs of a module's name here and in the authors' network."""


def load_authors_weights(path: Path | str, model: Network) -> Network:
    """Put the weights of a checkpoint of the authors into `model` and return it.

    The model comes from `create_model`, with the sizes of the file. Nothing in the file is executed. If
    it does not fit, a ConfigError says why and the model stays as it was. An auxiliary tower keeps the
    weights that it has.
    """
    names = _names(model)
    own = model.state_dict()
    theirs = _read(Path(path))
    _require_sizes(path, theirs, {name: own[ours] for ours, name in names.items()})
    missing = [n for n in names.values() if n not in theirs and not n.endswith(COUNTER)]
    if missing:
        raise ConfigError(
            f"{path} lacks {len(missing)} tensors of the network, first {missing[0]}; build the network "
            "of the cell that the file was trained with, or get the file again"
        )
    known = set(names.values())
    unexpected = [name for name in theirs if name not in known]
    if unexpected:
        raise ConfigError(
            f"{path} has {len(unexpected)} tensors that the network has no place for, first "
            f"{brief(unexpected[0])}; build the network of the cell that the file was trained with"
        )
    for ours, name in names.items():
        if name in theirs:
            _require_alike(path, name, theirs[name], own[ours])
            own[ours] = theirs[name]
    model.load_state_dict(own)
    return model


def to_authors_layout(model: Network) -> dict[str, Tensor]:
    """The state dict of `model` under the authors' names, without an auxiliary tower.

    The tensors are the model's own, as in `model.state_dict()`.
    """
    own = model.state_dict()
    return {theirs: own[ours] for ours, theirs in _names(model).items()}


def _names(model: Network) -> dict[str, str]:
    """Our name of every tensor but the auxiliary tower's -> the authors'."""
    if not isinstance(model, CellNetwork):
        raise ConfigError(
            f"the authors' weights fit networks of create_model, not {type(model).__name__}"
        )
    names = {}
    for ours, theirs in _prefixes(model):
        for name in model.get_submodule(ours).state_dict():
            names[f"{ours}.{name}"] = f"{theirs}.{name}"
    return names


def _prefixes(model: CellNetwork) -> Prefixes:
    if isinstance(model.stem, ImagenetStem):
        yield "stem.quarter", "stem0"
        yield "stem.eighth", "stem1"
    else:
        yield "stem.layers", "stem"
    for index, cell in enumerate(model.cells):
        assert isinstance(cell, Cell)  # noqa: S101 - a ModuleList has no types
        operations = [e.operation for edges in model.genotype.cell(cell.kind).nodes for e in edges]
        for ours, theirs in _cell_prefixes(cell, operations):
            yield f"cells.{index}.{ours}", f"cells.{index}.{theirs}"
        if isinstance(cell.excitation, SqueezeExcitation):
            yield f"cells.{index}.excitation.squeeze", f"cells_SE.{index}.fc.0"
            yield f"cells.{index}.excitation.excite", f"cells_SE.{index}.fc.2"
    yield "classifier", "classifier"


def _cell_prefixes(cell: Cell, operations: list[str]) -> Prefixes:
    """Pairs inside one cell, whose edges hold `operations`."""
    yield from _layer_prefixes(cell.prepare_before_that, "prepare_before_that", "preprocess0")
    yield from _layer_prefixes(cell.prepare_previous, "prepare_previous", "preprocess1")
    for edge, (module, operation) in enumerate(zip(cell.edges, operations, strict=True)):
        if operation in ONE_SEQUENCE or operation == "skip_connect":
            yield from _layer_prefixes(module, f"edges.{edge}", f"_ops.{edge}")
        elif operation not in WITHOUT_WEIGHTS:
            raise ConfigError(
                f"the {cell.kind} cell has the operation {operation!r}, whose layout in the authors' "
                "network is not known; their weights fit cells of the operations "
                f"{', '.join(sorted({'skip_connect', *ONE_SEQUENCE, *WITHOUT_WEIGHTS}))}"
            )
    if cell.joined.state_dict():
        raise ConfigError(
            f"the output of the {cell.kind} cell joins its inputs {', '.join(cell.joined)}, which the "
            "authors' network cannot; their weights fit cells whose output joins nodes"
        )


def _layer_prefixes(module: nn.Module, ours: str, theirs: str) -> Prefixes:
    if isinstance(module, FactorizedReduction):
        for here, there in (("even", "conv_1"), ("odd", "conv_2"), ("norm", "bn")):
            yield f"{ours}.{here}", f"{theirs}.{there}"
    else:
        yield ours, f"{theirs}.op"  # an identity has no tensors, so its name does not matter


def _read(path: Path) -> dict[str, Tensor]:
    """The state dict in a file, under the names that a network on one device has."""
    value = _load(path)
    for key in WRAPPERS:
        if isinstance(value, Mapping) and isinstance(value.get(key), Mapping):
            value = value[key]
            break
    if not isinstance(value, Mapping) or not value:
        raise ConfigError(
            f"{path} holds {brief(value)}, not the weights of a network; give a checkpoint of the "
            f"authors: a state dict, or a dict with one as {' or '.join(WRAPPERS)}"
        )
    for name, tensor in value.items():
        if not isinstance(name, str) or not isinstance(tensor, Tensor):
            raise ConfigError(
                f"{path} has {brief(tensor)} under {brief(name)}; a state dict has tensors under names, "
                f"and stands in the file itself or under {' or '.join(WRAPPERS)}"
            )
    if all(name.startswith(SEVERAL_DEVICES) for name in value):
        value = {name.removeprefix(SEVERAL_DEVICES): tensor for name, tensor in value.items()}
    return {name: tensor for name, tensor in value.items() if not name.startswith(AUXILIARY)}


def _load(path: Path) -> object:
    try:
        with (
            open_plain(path) as file,
            warnings.catch_warnings(),
            torch.serialization.safe_globals(NUMPY_SCALARS),
        ):
            warnings.simplefilter("ignore")  # torch warns of a kind of file before it refuses it
            value: object = torch.load(file, map_location="cpu", weights_only=True)
    except OSError as error:
        raise ConfigError(
            f"cannot read the weights {path}: {error.strerror or error}; give a file of the authors"
        ) from error
    except pickle.UnpicklingError as error:
        wanted = re.search(r"GLOBAL ([\w.]+)", str(error))
        if wanted is None:
            raise _damaged(path, error) from error
        raise ConfigError(
            f"{path} asks to run code of its own ({wanted[1]}) and was not loaded; if you trust it, "
            "save its state dict alone with the program it belongs to, and give that file"
        ) from error
    except Exception as error:  # a damaged file can break the reader at any place
        raise _damaged(path, error) from error
    return value


def _damaged(path: Path, error: Exception) -> ConfigError:
    return ConfigError(
        f"{path} is not a checkpoint, or not a whole one ({type(error).__name__}); get the file again"
    )


def _require_sizes(path: Path | str, theirs: Mapping[str, Tensor], own: Mapping[str, Tensor]) -> None:
    """Raise if an argument of `create_model` explains why the file does not fit."""
    given, needed = _sizes(own), _sizes(theirs)
    for name, value in needed.items():
        if value is not None and given[name] is not None and value != given[name]:
            raise ConfigError(
                f"{path} is of a network with {name}={value!r}, the given one has "
                f"{name}={given[name]!r}; build it with {name}={value!r}"
            )


def _sizes(state: Mapping[str, Tensor]) -> dict[str, object]:
    """Arguments of `create_model`, read from the authors' layout; None where it cannot be read."""

    def size(name: str, dimension: int) -> int | None:
        known = name in state and state[name].dim() > dimension
        return state[name].shape[dimension] if known else None

    imagenet = "stem0.0.weight" in state
    stem = "stem0.3" if imagenet else "stem.0"
    cells = {int(found[1]) for name in state if (found := re.match(r"cells\.(\d{1,9})\.", name))}
    return {
        "network": "imagenet" if imagenet else "cifar" if "stem.0.weight" in state else None,
        "cells": max(cells) + 1 if cells else None,
        "num_classes": size("classifier.bias", 0),
        "squeeze_excitation": any(name.startswith("cells_SE.") for name in state) if cells else None,
        "channels": size("cells.0.preprocess1.op.2.weight", 0),
        "in_chans": size("stem0.0.weight" if imagenet else "stem.0.weight", 1),
        "stem_channels": size(f"{stem}.weight", 0),
    }


def _require_alike(path: Path | str, name: str, theirs: Tensor, own: Tensor) -> None:
    if theirs.shape != own.shape:
        raise ConfigError(
            f"{name} is {tuple(theirs.shape)} in {path} and {tuple(own.shape)} in the network; build "
            "the network of the cell and the sizes that the file was trained with"
        )
    if (
        theirs.is_meta
        or theirs.is_floating_point() != own.is_floating_point()
        or theirs.layout is not own.layout
    ):
        raise ConfigError(
            f"{name} in {path} is a tensor of {theirs.dtype}, {theirs.layout}; weights are dense "
            f"{own.dtype}: get the file again"
        )
