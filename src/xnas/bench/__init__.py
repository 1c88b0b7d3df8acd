"""How fast everything is here, against the plain path."""

__all__: list[str] = []
