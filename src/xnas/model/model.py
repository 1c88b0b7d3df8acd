"""A trained network as two files: `model.safetensors`, its weights, and `model.json`, all else.

The card in `model.json` says how the network is built and how an image is prepared for it, so that the
two files alone are enough, on another device and in another version of the package. Nothing in them is
executed. Unknown fields of the card are ignored, because a newer version may add some. Unknown settings
of the network are an error, because they would change it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from reprlib import repr as brief

import torch
from torch import Tensor

from xnas.errors import ConfigError, DamagedFileError, XnasError
from xnas.files import open_plain, whole_file
from xnas.model.model_card import CARD_FILE, ModelCard, card_to_json, read_card
from xnas.space import Network, build_network
from xnas.words import short

WEIGHTS_FILE = "model.safetensors"
TRAINING_ONLY = "auxiliary_tower."
COMPILED = "_orig_mod."
"""What `torch.compile` puts into the names of the tensors of what it wraps."""
MOST_HEADER_BYTES = 100_000_000  # of model.safetensors, before the numbers, as its format says


def save_model(folder: Path, model: Network, card: ModelCard) -> None:
    """Write `model.safetensors` and, last, `model.json`, each whole or not at all.

    The model may be on any device and in any memory format, and stays as it is; the file has 32-bit
    weights, without those of an auxiliary tower.
    """
    from safetensors.torch import save  # noqa: PLC0415 - needed for files alone

    weights = _plain_weights(model)
    _require_same_network(weights, card)
    content = save(weights, metadata={"format": "pt"})
    text = json.dumps(card_to_json(card, _digest(content)), indent=1, ensure_ascii=False)
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / WEIGHTS_FILE) as file:
        file.write(content)
    with whole_file(folder / CARD_FILE) as file:
        file.write(f"{text}\n".encode())


def load_model(folder: Path | str, device: torch.device | str = "cpu") -> tuple[Network, ModelCard]:
    """The network of a folder, ready to answer, and its card."""
    folder = Path(folder)
    if folder.is_file():
        found = f", such as {folder.parent}" if (folder.parent / CARD_FILE).is_file() else ""
        raise ConfigError(
            f"{folder} is a file; give the folder of a training or an export, with {CARD_FILE} and "
            f"{WEIGHTS_FILE}{found}"
        )
    card, digest = read_card(folder)
    path = folder / WEIGHTS_FILE
    try:
        described = _described(card)
    except (XnasError, RuntimeError, OverflowError) as error:  # torch cannot count that far
        raise ConfigError(f"{folder / CARD_FILE} does not describe a network: {short(error)}") from error
    weights = _read_weights(path, digest, sum(t.nbytes for t in described.values()))
    fault = _difference(weights, described)
    if fault:
        raise ConfigError(f"{path} does not fit {CARD_FILE}: {fault}; get both files of one training")
    model = _network(card)  # not before it is known to be as large as its file
    model.load_state_dict(weights)
    return model.to(device).eval(), card


def _read_weights(path: Path, digest: str | None, size: int) -> dict[str, Tensor]:
    """Tensors of a file, which may hold `size` bytes of numbers and their names."""
    from safetensors import SafetensorError  # noqa: PLC0415 - needed for files alone
    from safetensors.torch import load  # noqa: PLC0415

    most = size + MOST_HEADER_BYTES
    try:
        with open_plain(path) as file:
            length = os.fstat(file.fileno()).st_size
            content = b"" if length > most else file.read(length)
    except OSError as error:
        raise ConfigError(
            f"cannot read the weights {path}: {error.strerror}; get the file again, or train again"
        ) from error
    if not content:
        raise DamagedFileError(
            f"{path} is damaged: it is empty, or far larger than the network that {CARD_FILE} "
            "describes; get both files of one training"
        )
    if digest is not None and _digest(content) != digest:
        raise DamagedFileError(
            f"{path} is damaged, or not the file that {CARD_FILE} was written with; get both files of "
            "one training"
        )
    try:
        weights: dict[str, Tensor] = load(content)
    except (SafetensorError, RuntimeError, TypeError, ValueError, LookupError) as error:
        raise DamagedFileError(
            f"{path} is damaged ({short(error)}); get it again, or train again"
        ) from error
    return weights


def _plain_weights(model: Network) -> dict[str, Tensor]:
    """The state dict, on the CPU, as contiguous 32-bit floats where it has floats."""
    weights = {}
    for name, tensor in model.state_dict().items():
        plain = name.replace(COMPILED, "")
        if plain.startswith(TRAINING_ONLY):
            continue
        kept = tensor.detach().to("cpu", torch.float32 if tensor.is_floating_point() else None)
        weights[plain] = kept.contiguous()
    return weights


def _require_same_network(weights: Mapping[str, Tensor], card: ModelCard) -> None:
    fault = _difference(weights, _described(card))
    if fault:
        raise ConfigError(f"the card does not describe the network: {fault}; use model_card")


def _described(card: ModelCard) -> dict[str, Tensor]:
    """The tensors of a card's network without their numbers."""
    with torch.device("meta"):
        return _network(card).state_dict()


def _network(card: ModelCard) -> Network:
    return build_network(card.architecture, card.network)


def _difference(given: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> str:
    """The first tensor that is missing, superfluous, or of another shape or kind; empty if all fit."""
    for name, tensor in wanted.items():
        if name not in given:
            return f"{name} is missing"
        found = given[name]
        if found.shape != tensor.shape or found.dtype != tensor.dtype:
            kinds = [f"{tuple(t.shape)} {t.dtype}" for t in (found, tensor)]
            return f"{name} is {kinds[0]} instead of {kinds[1]}"
    extra = [name for name in given if name not in wanted]
    return f"there is no place for {brief(extra[0])}" if extra else ""


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()
