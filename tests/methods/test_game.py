"""What a method knows of its search."""

from method_games import game


def test_updates_count_one_round_and_samples_one_for_each_image_and_cell():
    assert game().rounds("normal") == 200
    assert game(accounting="sample").rounds("normal") == 200 * 10 * 6
    assert game(accounting="sample").rounds("reduction") == 200 * 10 * 2


def test_a_supernet_of_no_registered_space_leaves_its_names_and_edges_out():
    played = game()
    assert (played.operations, played.edges, played.kept_edges, played.identities) == ((), (), None, {})
    assert (played.stages, played.stage, played.alive, played.partial_channels) == ((), 0, {}, 1)
