"""Loops: handed a supernet, a method and batches, never building them."""

from xnas.engine.capture import captured_round
from xnas.engine.checkpoint import Checkpoints, load_checkpoint
from xnas.engine.epoch import delete_wiped, end_epoch
from xnas.engine.gap import discretization_gap
from xnas.engine.interfaces import Batches, Searchable
from xnas.engine.outlook import impossible, outlook, worries
from xnas.engine.search import Search, play_round
from xnas.engine.search_state import require_sound, restore_search, search_state
from xnas.engine.settings import SearchSettings

__all__ = [
    "Batches",
    "Checkpoints",
    "Search",
    "SearchSettings",
    "Searchable",
    "captured_round",
    "delete_wiped",
    "discretization_gap",
    "end_epoch",
    "impossible",
    "load_checkpoint",
    "outlook",
    "play_round",
    "require_sound",
    "restore_search",
    "search_state",
    "worries",
]
