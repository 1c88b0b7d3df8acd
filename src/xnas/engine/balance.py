"""A regulariser whose strength follows the gap between the losses on the two halves of the images.

A search goes wrong when the supernet fits its training half much better than the other, and when it is
kept from learning at all. Between epochs the strength moves by the relative gap: it grows while the
training loss is the lower one and falls when it is the higher one, so that it comes to rest where both
are equal.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Balance:
    """Holds the chance of a regulariser, such as AutoAugment per image, where captured rounds read it.

    Departure: the paper's search has AutoAugment on every image of the training half. Experimental.
    """

    def __init__(self, device: torch.device | str) -> None:
        self.chance: Tensor = torch.zeros((), device=device)

    def follow(self, *, train_loss: float, valid_loss: float) -> None:
        """Move the chance after an epoch with these mean losses."""
        gap = (valid_loss - train_loss) / valid_loss
        self.chance.add_(gap).clamp_(0, 1)

    def state_dict(self) -> dict[str, Any]:
        """The chance, as a tensor."""
        return {"chance": self.chance.clone()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume with a saved chance."""
        self.chance.copy_(state_dict["chance"])
