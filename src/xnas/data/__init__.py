"""Datasets by name or folder, splits, and batches that are made on the device."""

from xnas.data.augment import (
    Augmentation,
    AutoAugmentTrain,
    Chain,
    Crop,
    Flip,
    augmentation_for,
    standardize,
)
from xnas.data.batches import BatchSource, rounds
from xnas.data.datasets import DATASETS, load_data
from xnas.data.images import ImageData, channel_statistics
from xnas.data.sizes import fit, fitting_size, resized
from xnas.data.splits import halves, held_out, stream, stream_seed

__all__ = [
    "DATASETS",
    "Augmentation",
    "AutoAugmentTrain",
    "BatchSource",
    "Chain",
    "Crop",
    "Flip",
    "ImageData",
    "augmentation_for",
    "channel_statistics",
    "fit",
    "fitting_size",
    "halves",
    "held_out",
    "load_data",
    "resized",
    "rounds",
    "standardize",
    "stream",
    "stream_seed",
]
