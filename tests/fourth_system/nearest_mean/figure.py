"""The figure of an experiment: mean accuracy against shrinkage, a curve for each data set."""


def accuracy_chart(rows, name, title):
    """Return one panel."""
    from kdrbench.suite.reports.figures.chart import Axis, Chart, Panel, Series

    means = rows.groupby(["dataset", "shrinkage"])["accuracy"].mean()
    curves = [
        Series(dataset, means[dataset].index.tolist(), means[dataset].tolist())
        for dataset in means.index.unique("dataset")
    ]
    return Chart(name, title, "Means over runs.", [Panel("", Axis("shrinkage"), Axis("accuracy"), curves)])
