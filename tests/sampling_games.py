"""Games with samplers: a plain loop with a window, values that are planted, ledgers in memory."""

from collections import deque

from xnas.samplers import Result

BEST = "nor_conv_3x3"


def planted(genotype):
    """The share of edges that are 3x3 convolutions (of any kind), between 0 and 1; one cell has 1."""
    names = [
        edge.operation
        for cell in (genotype.normal, genotype.reduction)
        if cell is not None
        for edges in cell.nodes
        for edge in edges
    ]
    return sum(name in {BEST, "sep_conv_3x3"} for name in names) / len(names)


def done(number, value):
    return Result(number=number, value=value, state="done")


def failed(number):
    return Result(number=number, value=None, state="failed", reason="the loss was not finite")


def play(sampler, value, evaluations, *, window=1, fails=lambda _: False, events=None):
    """Ask and tell in order with a window; return the trials with their values."""
    played, waiting, asked = [], deque(), 0
    events = [] if events is None else events
    while True:
        while asked < evaluations and len(waiting) < window:
            trial = sampler.ask()
            if trial is None:
                break
            asked += 1
            events.append(("ask", trial))
            waiting.append(trial)
        if not waiting:
            return played
        trial = waiting.popleft()
        bad = fails(trial.number)
        result = failed(trial.number) if bad else done(trial.number, value(trial.genotype))
        events.append(("tell", result))
        sampler.tell(result)
        played.append((trial, result.value))


def replay(sampler, events):
    """Ask and tell as the events say; the asks have to be equal."""
    for event, content in events:
        if event == "tell":
            sampler.tell(content)
        else:
            assert sampler.ask() == content
