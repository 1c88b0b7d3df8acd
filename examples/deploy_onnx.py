"""Classify images by an exported model with ONNX Runtime, NumPy and Pillow: no xnas and no PyTorch.

The model describes itself: its metadata says how an image is prepared, and the names of the classes.

    python examples/deploy_onnx.py my-model/model.onnx photos/3/13.png
"""

import json
import sys

import numpy as np
import onnxruntime
from PIL import Image, ImageOps

session = onnxruntime.InferenceSession(sys.argv[1])
metadata = session.get_modelmeta().custom_metadata_map
channels, (height, width), how, centre, mean, std, classes = (
    json.loads(metadata[f"xnas.{name}"])
    for name in ("channels", "size", "resize", "centre", "mean", "std", "classes")
)
fit = {"crop": ImageOps.fit, "pad": ImageOps.pad, "stretch": Image.Image.resize}[how]

for path in sys.argv[2:]:
    image = ImageOps.exif_transpose(Image.open(path)).convert("L" if channels == 1 else "RGB")
    image = fit(image, (width, height), Image.Resampling.BILINEAR)
    if centre is not None:
        left, top = (width - centre[1]) // 2, (height - centre[0]) // 2
        image = image.crop((left, top, left + centre[1], top + centre[0]))
    pixels = np.asarray(image, np.float32).reshape(image.height, image.width, channels) / 255
    batch = ((pixels - np.float32(mean)) / np.float32(std)).transpose(2, 0, 1)[None]
    (logits,) = session.run(None, {session.get_inputs()[0].name: batch})[0]
    shares = np.exp(logits - logits.max())
    shares /= shares.sum()
    print(f"{path}: {classes[shares.argmax()]}, {100 * shares.max():.1f} %")
