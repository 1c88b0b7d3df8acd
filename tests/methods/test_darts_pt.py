"""The stages of DARTS-PT."""

from xnas.methods.darts_pt import stages


def test_the_second_stage_keeps_weights_and_method_at_a_tenth_of_the_rate():
    for space, epochs in (("darts", [50, 81]), ("nasbench201", [100, 25])):
        search, tuning = stages(space)
        assert [search.epochs, tuning.epochs] == epochs
        assert tuning.weights_lr == tuning.final_weights_lr == 0.0025
        assert not tuning.fresh_weights
        assert not tuning.fresh_method
