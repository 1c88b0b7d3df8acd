"""What claims on hand-made records are judged to be."""

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"
NEAR = 1e-6  # from a criterion: nearer than any rule below comes by accident


def verdict(claims, start):
    """Verdict on the one claim whose statement begins so."""
    return found(claims, start).verdict


def found(claims, start):
    (claim,) = [claim for claim in claims if claim.statement.startswith(start)]
    return claim
