"""Small studies of the toy problems for tests that draw them."""

from xnas.toys import adversary_study, attenuation, stochastic_study, toy_2d, toy_3d

LATE_BLOOMER = toy_3d()
PLANE = {study.problem: study for study in toy_2d()}
NOISY = stochastic_study(runs=12, rounds=40)
ADVERSARY = adversary_study((30, 100, 300))
ATTENUATION = attenuation()
