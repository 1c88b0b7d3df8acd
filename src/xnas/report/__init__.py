"""Tables and figures drawn from records alone. Only modules that draw import matplotlib."""

__all__: list[str] = []
