"""The page of a search: what was found, how good and how sure it is, and how it came about."""

from __future__ import annotations

from collections import Counter
from itertools import chain

from xnas.records import Ledger, SearchEpoch, Truth
from xnas.report.page.blocks import (
    Block,
    Command,
    DataTable,
    Fact,
    Facts,
    Notice,
    Page,
    Section,
    Text,
    Tone,
)
from xnas.report.page.cell_graphs import finished_graphs, reason, searched_graphs, wiped_edges
from xnas.report.page.graphs import brief_name
from xnas.report.page.run_sections import duration, head_notices, page_of, run_section
from xnas.report.page.search_charts import (
    cost_charts,
    edge_name,
    mixture_charts,
    progress_charts,
    regret_chart,
    reward_charts,
)
from xnas.report.page.stories import SearchStory

MEANING = (
    "Regret is what a forecaster earned less than its best living expert, in linearised and clipped "
    "rewards. Theorem 1 bounds it where the notes below say so; regret below that bound is what the "
    "theory promises of the mixture."
)
NO_MEANING = (
    "It says nothing about the accuracy of the network: the weights were learned meanwhile, rewards "
    "beyond the bound counted as the bound, and a cell is trained anew."
)
NO_MIXTURES = "There are no mixtures to show: the file of epochs is damaged, or of an earlier version."
SURE = "edges whose operation leads the next one by more than noise"
MOST_LEADING = 2
"""Operations that are equally frequent and still stand in the headline."""


def search_page(story: SearchStory) -> Page:
    """The page of a search that is running, has stopped or is finished."""
    graphs = searched_graphs(story)
    summary: list[Block] = [*head_notices(story.head), *_warnings(story), Facts(_facts(story))]
    if graphs is not None:
        summary.append(graphs)
    elif story.graph is not None:
        summary += [finished_graphs(story.graph, "The cell that was found"), Text(NO_MIXTURES)]
    elif story.epochs:
        summary.append(Text("This run recorded no mixtures, so its cells cannot be drawn here."))
    if story.head.next_command:
        summary.append(Command("Next", story.head.next_command))
    return page_of(
        story.head,
        kind="Search",
        title=_title(story),
        subtitle=f"method {story.method}, space {story.space}" if story.method else "",
        summary=tuple(summary),
        sections=(
            Section(title="How it went", blocks=progress_charts(story)),
            Section(title="Edges", blocks=(*_edge_table(story), *mixture_charts(story))),
            Section(title="Rewards", blocks=reward_charts(story)),
            Section(title="Regret ledger", blocks=_ledger_blocks(story)),
            Section(title="Size", blocks=_size_blocks(story)),
            Section(title="Time and memory", blocks=cost_charts(story)),
            run_section(story.head),
        ),
    )


def _title(story: SearchStory) -> str:
    under_way = story.head.state in {"running", "stopped"}
    return f"{'Searching a' if under_way else 'A'} cell for {story.head.data_name}"


def _warnings(story: SearchStory) -> list[Block]:
    found: list[Block] = []
    if story.warning:
        found.append(Notice(story.warning))
    if story.compared and 2 * len(story.undecided) > story.compared:
        found.append(
            Notice(
                f"Too few rounds to decide: on {len(story.undecided)} of {story.compared} edges of the "
                "cell the lead of the operation is within noise. Search for more epochs, or compare "
                "seeds."
            )
        )
    return found


def _facts(story: SearchStory) -> tuple[Fact, ...]:
    if not story.epochs:
        return (Fact("Epochs", "0", f"of {story.epochs_planned}"),)
    last = story.epochs[-1]
    facts = [_found(story)] if story.choices else [_standing(story, last)]
    if last.truth is not None:
        exact = isinstance(last.truth, Truth)
        note = (
            f"rank {last.truth.rank:,} of all cells"
            if isinstance(last.truth, Truth)
            else (f"± {last.truth.error:.2f}; better than {last.truth.percentile:.0f} % of random cells")
        )
        name = "True accuracy" if exact else "Judged accuracy"
        facts.append(Fact(name, f"{last.truth.accuracy:.2f} %", note))
    facts.append(Fact("Validation accuracy", f"{100 * last.valid_accuracy:.1f} %", _cell_alone(story)))
    if story.compared:
        sure = story.compared - len(story.undecided)
        tone: Tone = "warning" if 2 * len(story.undecided) > story.compared else "plain"
        facts.append(Fact("Sure", f"{sure} of {story.compared}", SURE, tone))
    alive, all_ = _experts(story)
    gone = f"{all_ - alive} removed during the search" if alive < all_ else ""
    facts.append(Fact("Experts alive", f"{alive} of {all_}", gone))
    seconds = sum(e.cost.seconds for e in story.epochs)
    per = 1000 * last.cost.seconds_per_round
    facts.append(
        Fact("Time", duration(seconds), f"{last.rounds:,} rounds, {per:,.0f} ms each in the end")
    )
    return tuple(facts)


def _cell_alone(story: SearchStory) -> str:
    """What the cell alone reaches, as last measured, which need not be in the last epoch."""
    known = [(e.epoch, e.gap.cell) for e in story.epochs if e.gap is not None and e.gap.cell is not None]
    if not known:
        return "of the mixture, while it learned"
    epoch, accuracy = known[-1]
    when = "" if epoch == story.epochs[-1].epoch else f" after epoch {epoch}"
    return f"{100 * accuracy:.1f} % with the cell alone{when}, before any training"


def _found(story: SearchStory) -> Fact:
    """The operations of the first cell: the most frequent one, or two that are equally frequent."""
    kept = [c for c in story.choices if c.kept]
    first = kept[0].kind
    count = Counter(c.operation for c in kept if c.kind == first).most_common()
    words = [f"{n} × {brief_name(name)}" for name, n in count]
    leading = sum(n == count[0][1] for _, n in count)
    cell = f"in the {first} cell" if len({c.kind for c in kept}) > 1 else "in the cell"
    if leading > MOST_LEADING:
        return Fact("Found", f"{len(count)} operations", f"{cell}: {', '.join(words)}")
    rest = ", ".join(words[leading:])
    return Fact("Found", ", ".join(words[:leading]), f"{cell}{', with ' + rest if rest else ''}")


def _standing(story: SearchStory, last: SearchEpoch) -> Fact:
    return Fact("Epochs", f"{last.epoch} of {story.epochs_planned}", f"{last.rounds:,} rounds so far")


def _experts(story: SearchStory) -> tuple[int, int]:
    alive = sum(story.epochs[-1].experts_alive.values())
    gone = sum(len(e.deleted) for e in story.epochs)
    return alive, alive + gone


def _edge_table(story: SearchStory) -> tuple[Block, ...]:
    if not story.choices:
        return ()
    doubtful = {(c.kind, c.source, c.node) for c in story.undecided}
    wiped = {kind: wiped_edges(story, kind) for kind in {c.kind for c in story.choices}}
    rows = []
    for choice in story.choices:
        where = f"{choice.source} → {choice.node}"
        if story.cells and (choice.source, choice.node) in story.cells.edges:
            where = edge_name(story.cells, story.cells.edges.index((choice.source, choice.node)))
        doubt = " In doubt: its lead is within noise." * (
            (choice.kind, choice.source, choice.node) in doubtful
        )
        kept = "kept" if choice.kept else ""
        why = reason(choice, wiped=(choice.source, choice.node) in wiped[choice.kind])
        rows.append((choice.kind, where, choice.operation, kept, why + doubt))
    return (
        DataTable(
            caption="Why each edge was kept or left out",
            header=("cell", "edge", "operation", "", "reason"),
            rows=tuple(rows),
            left=(0, 1, 2, 3, 4),
            folded=True,
            strong=tuple(at for at, choice in enumerate(story.choices) if choice.kept),
        ),
    )


def _ledger_blocks(story: SearchStory) -> tuple[Block, ...]:
    if not story.ledgers:
        return ()
    tables = chain.from_iterable(_ledger(kind, ledger, story) for kind, ledger in story.ledgers.items())
    clipped = [f"{100 * ledger.clipped_share:.2g} % ({kind})" for kind, ledger in story.ledgers.items()]
    share = f"Rewards beyond the bound, which were clipped: {', '.join(clipped)}."
    return (Text(MEANING), Text(NO_MEANING), Text(share), *tables)


def _ledger(kind: str, ledger: Ledger, story: SearchStory) -> tuple[Block, ...]:
    chart = regret_chart(kind, ledger, story.cells)
    note = ledger.bound_note or ("no bound is known" if chart is None else "")
    remarks = (Text(f"{kind[:1].upper()}{kind[1:]} cell: {note}."),) if note else ()
    return remarks if chart is None else (*remarks, chart)


def _size_blocks(story: SearchStory) -> tuple[Block, ...]:
    if not story.sizes:
        return ()
    ordered = sorted(story.sizes, key=lambda size: size.parameters)
    rows = tuple(
        (
            size.name,
            f"{size.parameters / 1e6:,.2f} M",
            "" if size.macs is None else f"{size.macs / 1e6:,.0f} M",
            f"{size.depth:g}",
            "" if size.error is None else f"{size.error:.2f} %",
        )
        for size in ordered
    )
    return (
        Text(
            f"{story.network} Depth is the paper's: the mean source of the normal cell's edges, where "
            "states count from 0, the first input."
        ),
        DataTable(
            caption="The cell beside published ones, ordered by parameters",
            header=("cell", "parameters", "multiply-adds", "depth", "published error, CIFAR-10"),
            rows=rows,
            strong=tuple(at for at, size in enumerate(ordered) if size.own),
            folded=len(rows) > 12,
        ),
    )
