"""Local search as a plain loop: all neighbours, then the best of them, or another start."""


def climb(encoding, value, draw, *, evaluations):
    """Genotypes in the order of their evaluation, each once."""
    known, history = {}, []

    def evaluate(cell):
        if cell not in known:
            if len(history) == evaluations:
                raise StopIteration
            history.append(encoding.decode(cell))
            known[cell] = value(history[-1])
        return known[cell]

    try:
        while True:
            here = encoding.draw(draw)
            while here in known:
                here = encoding.draw(draw)
            evaluate(here)
            while True:
                around = list(encoding.neighbours(here))
                draw.shuffle(around)
                values = [evaluate(cell) for cell in around]
                if max(values) <= known[here]:
                    break
                here = around[values.index(max(values))]
    except StopIteration:
        return history
