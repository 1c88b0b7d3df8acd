"""A trained network: its weights, its description, its answers."""

from xnas.model.timm_model import TimmModel

__all__ = ["TimmModel"]
