"""Tables of words: the same lines in every form."""

import csv
import io

import pytest

from kdrbench.errors import InputError
from kdrbench.suite.reports.tables.labels import kernel_label, method_label
from kdrbench.suite.reports.tables.table import Entry, Group, Table, fitting, number, render_latex, write_table


def table():
    blocks = [
        [[Entry("wine_2 & more"), Entry("-1.5", bold=True, detail="10 folds")]],
        [[Entry("<face>"), Entry("98.1% \u00b1 0.2%")]],
    ]
    return Table("sizes", "Sizes of 100 % of the sets.", ["Set", "Size"], blocks, ["\u2020: stopped."])


def test_every_form_holds_every_word(tmp_path):
    write_table(table(), tmp_path / "sizes")
    lines = list(csv.reader(io.StringIO((tmp_path / "sizes.csv").read_text())))
    assert lines == [["Set", "Size"], ["wine_2 & more", "-1.5"], ["<face>", "98.1% \u00b1 0.2%"]]
    page = (tmp_path / "sizes.html").read_text()
    assert "&lt;face&gt;" in page
    assert ">98.1% \u00b1\u00a00.2%<" in page
    assert '<td class="number" title="10 folds"><strong>-1.5</strong></td>' in page
    assert "\u2020: stopped." in page
    assert Table.from_json((tmp_path / "sizes.json").read_text()) == table()
    tex = (tmp_path / "sizes.tex").read_text()
    assert r"wine\_2 \& more & \textbf{$-$1.5} \\" in tex
    assert tex.count(r"\midrule") == 2
    # The CSV holds the listed cells where there are some.
    listed = [{"set": "wine", "mean": 0.1}, {"set": "car", "mean": None}]
    assert Table("sizes", "", ["Set"], [[[Entry("Wine")]]], listed=listed).to_csv() == "set,mean\nwine,0.1\ncar,\n"


def test_groups_cover_the_columns_of_numbers():
    row = [Entry("wine"), Entry("1"), Entry("2")]
    groups = [[Group("Gaussian", 1), Group("", 1)]]
    grouped = Table("sizes", "", ["Set", "A", "B"], [[row, row]], groups=groups)
    assert [Table.from_json(grouped.to_json())] == fitting(grouped) == [grouped]
    wide = Table("sizes", "", ["Set", "A", "B"], [[[Entry("car"), Entry("1" * 80), Entry("2" * 80)]]], groups=groups)
    assert [part.columns for part in fitting(wide)] == [["Set", "A"], ["Set", "B"]]
    tex = render_latex(grouped)
    assert r" & \multicolumn{1}{c}{Gaussian} & \multicolumn{1}{c}{} \\" in tex
    # The label of a block is printed once.
    assert tex.count("wine & 1 & 2") == 1
    with pytest.raises(InputError, match="has 2 columns of numbers; its groups have 1"):
        Table("sizes", "", ["Set", "A", "B"], [[row]], groups=[[Group("Gaussian", 1)]])
    with pytest.raises(InputError, match=r"table 'sizes' has 2 columns; a row has 1: alone"):
        Table("sizes", "", ["Set", "Size"], [[[Entry("alone")]]])


def test_numbers_have_minus_signs_and_powers_in_latex():
    numbers = {
        "-1311 \u00b1 26": r"$-$1311 $\pm$ 26",
        "(-1.894 \u00b1 0.054)e6": r"($-$1.894 $\pm$ 0.054)$\times 10^{6}$",
        "3.0e-04": r"3.0$\times 10^{-4}$",
        "-0.89 to -0.5": r"$-$0.89 to $-$0.5",
        "PCA-2 and 1-NN": "PCA-2 and 1-NN",
    }
    assert {words: number(words) for words in numbers} == numbers


def test_what_is_a_users_own_is_printed_as_it_is_called():
    methods = {"my_solver": "my_solver", "ism_2018": "ISM 2018", "sm_10": "SM, 10 starts"}
    methods |= {"dg_converged_reference": "DG, converged, reference"}
    assert {name: method_label(name) for name in methods} == methods
    kernels = {"gaussian_polynomial": "Gaussian + polynomial", "my_kernel": "my_kernel"}
    kernels |= {"relative_10": "Relative, 10 neighbours"}
    assert {name: kernel_label(name) for name in kernels} == kernels
