"""A trained network: its weights, its description, its answers."""

__all__: list[str] = []
