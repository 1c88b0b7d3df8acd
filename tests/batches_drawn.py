"""Batches drawn from a source, and how two such lists compare."""

import torch


def play(batches, times):
    """The next batches as copies."""
    filled = []
    for _ in range(times):
        buffers = batches.buffers()
        batches.fill(*buffers)
        filled.append(buffers)
    return filled


def labels_of(filled):
    """Labels of each batch."""
    return [labels.tolist() for _, labels in filled]


def assert_equal(first, second):
    """Batch for batch the same images with the same labels."""
    for (images, labels), (other_images, other_labels) in zip(first, second, strict=True):
        assert torch.equal(images, other_images)
        assert torch.equal(labels, other_labels)
