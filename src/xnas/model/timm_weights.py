"""Weights of models of timm from files of other programs, read without executing anything in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from reprlib import repr as brief
from typing import Any

import torch
from torch import Tensor

from xnas.errors import ConfigError
from xnas.words import short

SAFE = ".safetensors"
INSIDE = ("state_dict_ema", "state_dict", "model_ema", "model")
"""Keys under which training programs put a state dict."""
WRAPPED = "module."
"""What `DataParallel` puts before the names of the tensors."""


def read_weights(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a state dict, .safetensors or .pth, by name; no code in it is run."""
    from safetensors import SafetensorError  # noqa: PLC0415 - needed for files alone
    from safetensors.torch import load_file  # noqa: PLC0415

    if not path.is_file():
        raise ConfigError(f"there is no file {path}; give a .safetensors or .pth file with weights")
    try:
        saved = load_file(path) if path.suffix == SAFE else _load_pickle(path)
    except (SafetensorError, UnpicklingError, OSError, RuntimeError, ValueError, EOFError) as error:
        raise ConfigError(
            f"{path} cannot be read as weights ({short(error)}); give a state dict, .safetensors or .pth"
        ) from error
    for key in INSIDE:
        if isinstance(saved, Mapping) and isinstance(saved.get(key), Mapping):
            saved = saved[key]
    if not isinstance(saved, Mapping) or not all(isinstance(t, Tensor) for t in saved.values()):
        raise ConfigError(f"{path} holds no state dict; give a file of a model's tensors by name")
    return {name.removeprefix(WRAPPED): tensor for name, tensor in saved.items()}


def _load_pickle(path: Path) -> Any:  # noqa: ANN401 - what a file holds
    return torch.load(path, map_location="cpu", weights_only=True)


def without_classifier(body: Any, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:  # noqa: ANN401
    """Return the weights that do not belong to a timm model's last layer."""
    named = body.pretrained_cfg.get("classifier") or ()
    layers = (named,) if isinstance(named, str) else tuple(named)
    return {
        name: tensor
        for name, tensor in weights.items()
        if not any(name.startswith(f"{layer}.") for layer in layers)
    }


def load_body(body: Any, weights: Mapping[str, Tensor], where: object = "the file") -> None:  # noqa: ANN401
    """Give a timm model all weights but those of its last layer; raises if they are not its own."""
    own, given = without_classifier(body, body.state_dict()), without_classifier(body, weights)
    fault = _misfit(own, given)
    if fault:
        raise ConfigError(f"the weights of {where} do not fit the model: {fault}; give those of it")
    body.load_state_dict({**given}, strict=False)


def _misfit(own: Mapping[str, Tensor], given: Mapping[str, Tensor]) -> str:
    """The first tensor that is missing, superfluous or of another shape."""
    for name, tensor in own.items():
        if name not in given:
            return f"{name} is missing"
        if given[name].shape != tensor.shape:
            return f"{name} is {tuple(given[name].shape)} instead of {tuple(tensor.shape)}"
    extra = next((name for name in given if name not in own), None)
    return f"there is no place for {brief(extra)}" if extra else ""
