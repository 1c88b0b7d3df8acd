"""Datasets by name or folder, splits, and batches that are made on the device."""

from xnas.data.augment import (
    Augmentation,
    Chain,
    Crop,
    Cutout,
    Flip,
    augmentation_for,
    standardize,
    training_augmentation,
)
from xnas.data.autoaugment import AutoAugmentTrain
from xnas.data.batches import BatchSettings, BatchSource, rounds
from xnas.data.budget import available_memory, streams
from xnas.data.catalogue import CATALOGUE, Known
from xnas.data.datasets import DATASETS, load_data
from xnas.data.decoding import decode_image
from xnas.data.folder_index import FolderIndex, LabelledFiles, list_folder
from xnas.data.given_datasets import images_of_dataset
from xnas.data.image_files import ImageFiles, Images, Paths, StreamedImages
from xnas.data.images import ImageData, channel_statistics
from xnas.data.imbalance import imbalance
from xnas.data.resized_crop import RandomResizedCrop
from xnas.data.sizes import Resize, fit, fitting_size, resized
from xnas.data.splits import halves, held_out, stream, stream_seed
from xnas.data.streaming import StreamSource, default_workers
from xnas.data_options import DataOptions

__all__ = [
    "CATALOGUE",
    "DATASETS",
    "Augmentation",
    "AutoAugmentTrain",
    "BatchSettings",
    "BatchSource",
    "Chain",
    "Crop",
    "Cutout",
    "DataOptions",
    "Flip",
    "FolderIndex",
    "ImageData",
    "ImageFiles",
    "Images",
    "Known",
    "LabelledFiles",
    "Paths",
    "RandomResizedCrop",
    "Resize",
    "StreamSource",
    "StreamedImages",
    "augmentation_for",
    "available_memory",
    "channel_statistics",
    "decode_image",
    "default_workers",
    "fit",
    "fitting_size",
    "halves",
    "held_out",
    "images_of_dataset",
    "imbalance",
    "list_folder",
    "load_data",
    "resized",
    "rounds",
    "standardize",
    "stream",
    "stream_seed",
    "streams",
    "training_augmentation",
]
