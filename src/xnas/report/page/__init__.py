"""Self-contained pages of HTML, drawn from records: `Page` in, text out.

A page is sections of blocks (`blocks.py`, `charts.py`), which know nothing of HTML. `frame.render` lays
them out, and every piece of text is escaped on its way. To draw a page of your own:

    page = Page(kind="Comparison", title="Three methods", summary=(Facts(...),), sections=(...,))
    html = render(page)
"""

__all__: list[str] = []
