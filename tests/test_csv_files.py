"""CSV that spreadsheets can open: every text comes back as it was, and none is a formula."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from kdrbench.errors import DamagedError
from kdrbench.suite.csv_files import csv_text, guarded, parse_csv, read_csv, restored
from kdrbench.suite.reports.records import read_runs

# Characters by which cells, lines, quotes and formulas begin or end.
ALPHABET = list("=+-@\t\r\n'\",;| aZ09.e\u2028\u00e9")


def test_formulas_have_an_apostrophe_and_numbers_stay():
    for text in ("=1+1", "+cmd", "-2+3", "@SUM(1)", "\tx", "\rx", "'x", "-E1", "'"):
        assert guarded(text) == f"'{text}"
        assert restored(guarded(text)) == text
    for text in ("-1.5", "+2", "-1e-5", "-12.3 ± 0.1", "-1311±26", "-5 %", "-", "-inf", "", "a=b", "1-2", "\u2212 3"):
        assert guarded(text) == restored(guarded(text)) == text


def test_cells_are_quoted_as_the_standard_library_does():
    rows = [["a,b", 'say "x"', "two\nlines", None], ["", 1.5, True, np.float64(0.1)], [" b ", -3, "c", "-4"]]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([["w", "x", "y", "z"], *rows])
    assert csv_text(["w", "x", "y", "z"], rows) == buffer.getvalue()
    assert csv_text(["a", "b"], [["gone\r", 1]]) == 'a,b\n"gone\r",1\n'
    assert csv_text(["a"], [[""]]) == 'a\n""\n'


@pytest.mark.attack("gate: tables")
def test_random_texts_come_back_from_tables_and_to_reports(tmp_path, attack_rng):
    texts = ["".join(attack_rng.choice(ALPHABET, attack_rng.integers(0, 8))) for _ in range(300)]
    texts += ["NA", "nan", "None", "null", "=1", "gone\r"]
    path = tmp_path / "table.csv"
    path.write_text(
        csv_text(["status", "message", "number"], [["converged", text, -1.5] for text in texts]),
        encoding="utf-8",
        newline="",
    )
    assert [row["message"] for row in read_csv(path)] == texts
    assert parse_csv(csv_text(["message"], [[text] for text in texts]))[1] == [{"message": text} for text in texts]
    runs = read_runs(path)
    assert [text for text in runs["message"].fillna("")] == texts
    assert runs["number"].tolist() == [-1.5] * len(texts)
    for cell in pd.read_csv(path, keep_default_na=False, dtype=str)["message"]:
        assert cell[:1] not in tuple("=@\t\r\n")
        assert cell[:1] not in tuple("+-") or cell in "+-" or float(cell) is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [("a,b\n1,2\n3\n", "line 3 has 1 cells in place of 2"), ("a,a\n1,2\n", "same name"), ('a\n"1', "line 2")],
)
def test_a_torn_table_is_named(tmp_path, text, words):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DamagedError, match=rf"a\.csv is no table that can be read \(.*{words}.*\); make it again"):
        read_csv(tmp_path / "a.csv")
