"""Tiny trained runs for tests: a network of 3 cells and 2 channels with random weights, saved."""

import json
import os

import torch

from xnas import create_model
from xnas.data import load_data
from xnas.model.model import save_model
from xnas.model.model_card import model_card

TINY = {"cells": 3, "channels": 2}


def network(data, seed=0, **arguments):
    """A network for the images, whose batch statistics are those of some of them."""
    torch.manual_seed(seed)
    model = create_model(
        "xnas", num_classes=len(data.classes), in_chans=data.channels, **TINY | arguments
    )
    with torch.no_grad():
        model.train()(torch.randn(16, data.channels, *data.size))
    return model.eval()


def saved_run(folder, data=None, *, config=True, **arguments):
    """A run folder as a training leaves it."""
    images = load_data("digits") if data is None else data
    model = network(images, **arguments)
    save_model(folder, model, model_card(model, images, recipe="quick", seed=3))
    if config:
        settings = {"format": "xnas-run", "version": 1, "kind": "train", "data": "digits", "config": {}}
        settings["data_fingerprint"] = images.fingerprint()
        (folder / "config.json").write_text(json.dumps(settings), encoding="utf8")
    return model


def edited(folder, **changes):
    """Change fields of model.json; None removes one."""
    path = folder / "model.json"
    card = json.loads(path.read_text(encoding="utf8")) | changes
    kept = {name: value for name, value in card.items() if value is not None}
    path.write_text(json.dumps(kept), encoding="utf8")


AS_ROOT = os.geteuid() == 0  # for whom every folder can be written
