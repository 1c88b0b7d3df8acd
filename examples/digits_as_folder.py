"""Write handwritten digits from scikit-learn into a folder of class folders, to try xnas on.

python examples/digits_as_folder.py photos          400 of them
python examples/digits_as_folder.py photos 1797     all
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

SIDE = 16

folder = Path(sys.argv[1])
count = int(sys.argv[2]) if len(sys.argv) > 2 else 400
digits = load_digits()
for number in range(count):
    grey = (digits.images[number] * (255 / 16)).astype(np.uint8)
    path = folder / str(digits.target[number]) / f"{number}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(grey).resize((SIDE, SIDE)).save(path)
print(f"{count} images in {len(digits.target_names)} class folders of {folder}")
