from kdrbench.suite.engine.seeds import rng_of, seed_of


def test_seeds_depend_on_every_axis_and_on_nothing_else():
    assert seed_of("split", "wine", 0) == seed_of("split", "wine", 0)
    assert len({seed_of("split", "wine", 0), seed_of("split", "wine", 1), seed_of("start", "wine", 0)}) == 3
    # Pinned: a change of the hash would silently change every split.
    assert seed_of("split", "wine", 0) == 10836463868764153231
    assert rng_of("a").random() == rng_of("a").random()
