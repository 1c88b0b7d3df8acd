"""The paper's figures, tables and claims, made and judged."""

__all__: list[str] = []
