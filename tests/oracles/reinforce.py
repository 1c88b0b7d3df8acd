"""REINFORCE on rows of logits, in plain loops: the gradient and Adam written out."""

import torch

BETAS, EPSILON = (0.9, 0.999), 1e-8


def reinforce(cardinalities, reward, evaluations, *, seed, rate=0.05, momentum=0.9):
    """The choices that are asked, with the same draws from the same generator."""
    generator = torch.Generator().manual_seed(seed)
    rows = [
        (1e-3 * torch.randn(n, generator=generator, dtype=torch.float64)).tolist() for n in cardinalities
    ]
    first = [[0.0] * n for n in cardinalities]
    second = [[0.0] * n for n in cardinalities]
    total = weight = 0.0
    for step in range(1, evaluations + 1):
        shares = [torch.tensor(row, dtype=torch.float64).softmax(0) for row in rows]
        choices = [p[None].multinomial(1, generator=generator).item() for p in shares]
        yield tuple(choices)
        earned = reward(choices)
        total = momentum * total + (1 - momentum) * earned
        weight = momentum * weight + (1 - momentum)
        advantage = earned - total / weight
        for row, (p, choice) in enumerate(zip(shares, choices, strict=True)):
            for at, share in enumerate(p.tolist()):
                gradient = -advantage * ((at == choice) - share)
                m = first[row][at] = BETAS[0] * first[row][at] + (1 - BETAS[0]) * gradient
                v = second[row][at] = BETAS[1] * second[row][at] + (1 - BETAS[1]) * gradient**2
                m, v = m / (1 - BETAS[0] ** step), v / (1 - BETAS[1] ** step)
                rows[row][at] -= rate * m / (v**0.5 + EPSILON)
