"""Aging evolution as a plain loop (Real et al., 2019, Algorithm 1), one evaluation after another."""


def evolve(encoding, value, draw, *, evaluations, population, sample):
    """Genotypes in the order of their evaluation."""
    queue, history = [], []
    while len(history) < evaluations:
        if len(history) < population:
            cell = encoding.draw(draw)
        else:
            rivals = [draw.choice(queue) for _ in range(sample)]
            parent = rivals[0]
            for rival in rivals:
                if rival[1] > parent[1]:
                    parent = rival
            cell = encoding.mutate(parent[0], draw)
        genotype = encoding.decode(cell)
        history.append(genotype)
        queue.append((cell, value(genotype)))
        if len(queue) > population:
            queue.pop(0)
    return history
