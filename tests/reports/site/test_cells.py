"""Lines of the pages of methods and data sets."""

import warnings
from types import SimpleNamespace

import pandas as pd

from kdrbench.reports.site.cells import lines_of
from support.report_rows import run


def test_tables_of_many_columns_of_text_raise_no_warning():
    rows = [run("wine", method, number) for method in ("ism", "dg") for number in range(2)]
    wide = {f"text_{number}": "word" for number in range(120)}
    runs = pd.DataFrame([row | wide | {"system": "ikdr"} for row in rows]).astype(dict.fromkeys(wide, "string"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.PerformanceWarning)
        lines = lines_of(SimpleNamespace(name="one", runs=runs, gaps=pd.Series(0.0, runs.index)))
    assert [line.method for line in lines] == ["ISM", "DG"]
