"""One benchmark run and many: configuration, grid, supervised runs, records."""

from kdrbench.extras import needed_for

# Before any module of the engine, so that other systems get one sentence.
with needed_for("the engine of benchmark runs"):
    import fcntl  # noqa: F401
    import resource  # noqa: F401
