"""Figures of the paper and its supplement, drawn from records."""

__all__: list[str] = []
