"""DARTS-'s auxiliary skip connection."""

from method_games import FakePasses, near, one_edge


def test_it_is_added_and_fades():
    _, method = one_edge("darts-minus", epochs=50)
    method.begin_epoch(25)
    for step in ("weights", "rewards"):
        weights = method.weights(step, FakePasses({}))["normal"]
        assert near(weights, 0.337585, 0.750089, 0.412327)
    assert [method.schedule(e) for e in (0, 25, 49)] == [1, 0.5, 1 - 49 / 50]


def test_the_dead_get_none_of_it():
    _, method = one_edge("darts-minus")
    method.masks["normal"][0, 1] = False
    assert method.weights("weights", FakePasses({}))["normal"][0, 1] == 0
