"""The pretrained model of a fit: found on this machine, checked, and never downloaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from xnas.data import Images
from xnas.errors import ConfigError
from xnas.files import whole_file
from xnas.model.timm_model import TimmModel
from xnas.model.timm_network import COLOURS
from xnas.model.timm_weights import load_body, read_weights, without_classifier
from xnas.runs.run_folder import RunFolder

PREFERRED = ("resnet18", "mobilenetv3_small_100", "mobilenetv3_large_100", "efficientnet_b0", "resnet34")
"""Small models, tried in this order if none is named."""
NONE = "none"
SIDES = (64, 96, 128, 160)
"""That images may be enlarged to where the model's own size takes too long."""
JSON_FILE, WEIGHTS_FILE = "pretrained.json", "pretrained.safetensors"
HUB_FILES = ("model.safetensors", "pytorch_model.bin")
ADVICE = "--pretrained MODEL=FILE names a model of timm and a file of its weights"


@dataclass(frozen=True, slots=True)
class PretrainedModel:
    """A model of timm with its weights."""

    name: str
    """As timm has it, with a tag."""
    source: Path
    config: dict[str, Any]
    """What timm knows of the images that it expects."""
    weights: dict[str, Tensor]
    mean: tuple[float, ...]
    """That images are standardised with before the model gets them."""
    std: tuple[float, ...]

    def sides(self, size: tuple[int, int]) -> tuple[int, ...]:
        """Sides that images may be enlarged to, in rising order; the last is the model's own."""
        own = int(self.config["input_size"][-1])
        if self.config.get("fixed_input_size") or min(size) >= own:
            return (own,)
        return (*(side for side in SIDES if min(size) < side < own), own)

    def architecture(self, side: int, weights: Path | None = None) -> TimmModel:
        """The network, with images enlarged to a side and standardised as the model expects them."""
        pairs = zip(_three(self.mean), _three(self.std), strict=True)
        theirs = zip(self.config["mean"], self.config["std"], strict=True)
        both = [
            (m, s, their_m, their_s) for (m, s), (their_m, their_s) in zip(pairs, theirs, strict=True)
        ]
        return TimmModel(
            self.name,
            side=side,
            square=bool(self.config.get("fixed_input_size")),
            scale=tuple(s / their_s for _, s, _, their_s in both),
            shift=tuple((m - their_m) / their_s for m, _, their_m, their_s in both),
            weights=None if weights is None else str(weights),
        )

    def save(self, folder: RunFolder, side: int) -> None:
        """Keep weights and description in the folder of a fit, so that it resumes without the source."""
        from safetensors.torch import save  # noqa: PLC0415 - needed for files alone

        tensors = {name: tensor.contiguous() for name, tensor in self.weights.items()}
        with folder.storage_errors(), whole_file(folder.path / WEIGHTS_FILE) as file:
            file.write(save(tensors, metadata={"format": "pt"}))
        folder.write_text(JSON_FILE, self.architecture(side, folder.path / WEIGHTS_FILE).to_json())


def find_pretrained(wanted: str | None, images: Images) -> tuple[PretrainedModel | None, str]:
    """The model to fine-tune, or None and the reason.

    `wanted` is what the user has asked for, which must be there: MODEL, MODEL=FILE or none. Without a
    wish, the first of a few small models whose weights are in the cache is taken.
    """
    if wanted == NONE:
        return None, "none was wanted"
    if images.channels not in (1, COLOURS):
        why = f"images of {images.channels} channels; pretrained models take 1 or {COLOURS}"
        if wanted is not None:
            raise ConfigError(f"--pretrained {wanted} cannot be fine-tuned on {why}; leave it out")
        return None, why
    try:
        import timm  # noqa: F401, PLC0415 - optional, and slow to import
    except ImportError:
        if wanted is not None:
            raise ConfigError(
                f"--pretrained {wanted} needs timm: pip install 'xnas[timm]', or leave it out"
            ) from None
        return None, "timm is not installed (pip install 'xnas[timm]')"
    if wanted is None:
        return _first_cached(images)
    name, _, file = wanted.partition("=")
    require_model(name)
    if "=" in wanted:
        return _model(name, Path(file).expanduser(), images), ""
    found = cached_weights(name)
    if found is None:
        raise ConfigError(
            f"the weights of --pretrained {name} are not on this machine, and xnas downloads none; "
            f"{ADVICE}"
        )
    return _model(*found, images), ""


def require_model(name: str) -> None:
    """Raise unless timm has a model of that name."""
    import timm  # noqa: PLC0415

    if not name or not timm.is_model(name):
        close = timm.list_models(f"{name[:6]}*")[:3] if name else []
        like = f"; there are {', '.join(close)}" if close else ""
        raise ConfigError(
            f"--pretrained: timm has no model called {name!r}{like}; give one of its names"
        )


def cached_weights(name: str) -> tuple[str, Path] | None:
    """Name with tag and file of a model's weights in the caches of timm; None if they are not there.

    Caches are looked into as files: nothing is asked of the network.
    """
    import timm  # noqa: PLC0415

    plain = name.partition(".")[0]
    tagged = timm.list_models(f"{plain}.*", pretrained=True) if name == plain else []
    for full in (name, *tagged):
        config = timm.get_pretrained_cfg(full)
        file = None if config is None else _cached_file(config.to_dict())  # type: ignore[no-untyped-call]
        if file is not None and config is not None:
            tag = f".{config.tag}" if config.tag and "." not in full else ""
            return f"{full}{tag}", file
    return None


def _cached_file(config: dict[str, Any]) -> Path | None:
    """The file of one configuration of timm, in the cache of the Hugging Face hub or of torch."""
    if config.get("hf_hub_id"):
        from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - timm brings it

        for file in HUB_FILES:
            found = try_to_load_from_cache(config["hf_hub_id"], file)
            if isinstance(found, str):
                return Path(found)
    if config.get("url"):
        from torch.hub import get_dir  # noqa: PLC0415

        path = Path(get_dir()) / "checkpoints" / Path(config["url"]).name
        if path.is_file():
            return path
    return None


def _first_cached(images: Images) -> tuple[PretrainedModel | None, str]:
    """The first preferred model whose weights are there and fit, or the reason why there is none."""
    reason = f"no weights at hand: {ADVICE}"
    for name in PREFERRED:
        found = cached_weights(name)
        if found is None:
            continue
        try:
            return _model(*found, images), ""
        except ConfigError as error:
            reason = str(error)
    return None, reason


def _model(name: str, file: Path, images: Images) -> PretrainedModel:
    """The model with the weights of a file, if they are its own."""
    import timm  # noqa: PLC0415

    weights = read_weights(file)
    body = timm.create_model(name, pretrained=False)
    load_body(body, weights, where=file)
    config: dict[str, Any] = dict(body.pretrained_cfg)  # type: ignore[arg-type]  # timm's
    kept = without_classifier(body, body.state_dict())
    return PretrainedModel(
        name=name, source=file, config=config, weights=kept, mean=images.mean, std=images.std
    )


def _three(numbers: tuple[float, ...]) -> tuple[float, ...]:
    """One number for each colour."""
    return numbers * COLOURS if len(numbers) == 1 else numbers
