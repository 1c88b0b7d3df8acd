"""Write 400 handwritten digits from scikit-learn into a folder of class folders, to try xnas on.

python examples/digits_as_folder.py photos
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

IMAGES = 400
SIDE = 16

folder = Path(sys.argv[1])
digits = load_digits()
for number in range(IMAGES):
    grey = (digits.images[number] * (255 / 16)).astype(np.uint8)
    path = folder / str(digits.target[number]) / f"{number}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(grey).resize((SIDE, SIDE)).save(path)
print(f"{IMAGES} images in {len(digits.target_names)} class folders of {folder}")
