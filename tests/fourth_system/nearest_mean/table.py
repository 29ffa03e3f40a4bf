"""The table of an experiment: mean accuracy by data set and shrinkage."""


def means_table(rows, name, title):
    """Return one row for each data set and one column for each shrinkage."""
    from kdrbench.suite.reports.tables.table import Entry, Table, entries

    means = rows.groupby(["dataset", "shrinkage"])["accuracy"].mean().unstack("shrinkage")
    block = [
        [*entries([dataset]), *(Entry(f"{value:.3f}", float(value)) for value in line)]
        for dataset, line in zip(means.index, means.to_numpy(), strict=True)
    ]
    return Table(name, title, ["data set", *(f"shrinkage {one:g}" for one in means.columns)], [block])
