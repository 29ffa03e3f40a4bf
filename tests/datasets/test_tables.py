"""Files as data sets by one line of a configuration, and what is said of those that are none."""

import gzip

import numpy as np
import pytest

from kdrbench.datasets import load_own, registry_of
from kdrbench.datasets.tables import table_of
from kdrbench.errors import InputError

CSV = "width,height,side\n1.5,2,left\n2.5,3,right\n0.5,1e1,left\n3,4,right\n"


def load(path, text, **options):
    path.write_text(text)
    return load_own("mine", {"loader": path.suffix[1:], "path": str(path), **options})


def test_a_file_is_a_data_set_without_what_is_left_out(tmp_path):
    data = load(tmp_path / "a.csv", CSV, target="side")
    np.testing.assert_array_equal(data.features, [[1.5, 2], [2.5, 3], [0.5, 10], [3, 4]])
    assert data.class_names == ("left", "right")
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert data.feature_names == ("width", "height")
    # Class is the target where none is named.
    text = "id;x;Class\n" + "".join(f"row {number};{number};{number % 2}\n" for number in range(4))
    data = load(tmp_path / "a.csv", text, delimiter=";", drop=["id"])
    assert data.feature_names == ("x",)
    assert data.class_names == ("0", "1")
    data = load(tmp_path / "a.csv", CSV + "?,1,left\n,2,right\n", target="side", missing="drop")
    assert data.features.shape == (4, 2)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (CSV, {}, "which column holds the classes.*a.csv:COLUMN, .*target: COLUMN, one of width, height, side"),
        (CSV, {"target": "sid"}, "unknown column 'sid'.*Did you mean 'side'"),
        (CSV, {"target": "side", "drop": ["hight"]}, "drop: unknown column 'hight'.*Did you mean 'height'"),
        (CSV, {"target": "width"}, "column 'side' holds 'left' in row 1, which is no number"),
        ("x\n1\n2\n", {"target": "x"}, "single column, 'x'; name what is between its columns: delimiter"),
        ("0,1,2\n5,4,3\n1,3,3\n", {"target": "2"}, "first line, 0, 1, 2, may be a sample or.*header: false or header"),
        ("x;side\n1,234;a\n5,678;b\n", {"target": "side"}, "column 'x' holds '1,234'; is the comma.*thousands: \",\""),
        ("x;y;side\n1,5;0.25;a\n2,5;0.5;b\n", {"target": "side"}, "column 'x' holds '1,5'; is the comma.*decimal"),
        ("a,,side\n1,2,a\n2,4,b\n", {"target": "side"}, "column 2 has no name in the first line; give it one"),
        ("x,y\n1,0.5\n3,0.75\n4,0.25\n", {"target": "y"}, "target holds continuous values, for instance 0.5"),
        (
            "x,y\n" + "".join(f"{row % 7},{3 * row}\n" for row in range(30)),
            {"target": "y"},
            "the target has 30 different whole numbers in 30 rows, so it is continuous; the benchmark needs classes",
        ),
        ("x,y\n1.2.3,a\n3,b\n", {"target": "y"}, "column 'x' holds '1.2.3' in row 1, which is no number"),
        ("x,y\nab,a\ncd,b\nef,a\n", {"target": "y", "one_hot": True}, "'x' has 3 categories in 3 rows.*drop: .x."),
        (CSV, {"target": "side", "one_hot": ["hue"]}, "one_hot: unknown column 'hue'"),
        (CSV, {"target": "side", "decimal": ";"}, "unknown data set option decimal ';'"),
        (CSV + "1,2\n", {"target": "side"}, "row 5: 2 values; the first line names 3 columns"),
        (CSV + "NA,1,left\n", {"target": "side"}, r"missing in 1 row, in columns width \(1\);.*missing: drop"),
        (CSV.replace("height", "width"), {"target": "side"}, "two columns are called 'width'"),
        ("", {"target": "side"}, "is empty; its first line"),
        ("width,side\n", {"target": "side"}, "holds no row"),
        ("side,other\na,1\n", {"target": "side", "drop": ["other"]}, "no column beside 'side'"),
        (CSV, {"target": "side", "missing": "mean"}, "unknown data set option missing 'mean'; allowed: error, drop"),
        (CSV, {"target": "side", "delimeter": ";"}, "Did you mean 'delimiter'"),
    ],
)
def test_what_is_no_data_set_is_said_with_what_to_do(tmp_path, text, options, words):
    with pytest.raises(InputError, match=words):
        load(tmp_path / "a.csv", text, **options)


WANTED = np.array([[1.5, 1200], [2.5, 300], [0.5, 40], [3, 5]])
AS_PEOPLE_HAVE_THEM = {
    "no header": ("a.data", "1.5,1200,left\n2.5,300,right\n0.5,40,left\n3,5,right\n", {"target": "3"}),
    "no header, all numbers": ("a.csv", "0,1.5,1200\n1,2.5,300\n0,.5,40\n1,3,5\n", {"target": 1}),
    "the index of pandas": ("a.csv", ",x,y,side\n0,1.5,1200,left\n1,2.5,300,right\n2,.5,40,left\n3,3,5,right\n", {}),
    "row names of R": ("a.csv", "x,y,side\na,1.5,1200,left\nb,2.5,300,right\nc,.5,40,left\nd,3,5,right\n", {}),
    "Id": ("a.csv", "Id,x,y,side\n1,1.5,1200,left\n2,2.5,300,right\n3,.5,40,left\n4,3,5,right\n", {}),
    "classes none and NA": ("a.csv", "x,y,side\n1.5,1200,NA\n2.5,300,none\n.5,40,NA\n3,5,none\n", {}),
    "quotes after spaces": ("a.csv", 'x, y, side\n1.5, 1200, "a, b"\n2.5, 300, "c"\n0.5, 40, "a, b"\n3, 5, c\n', {}),
    "decimal commas": ("a.csv", "x;y;side\n1,5;1200;left\n2,5;300;right\n0,5;40;left\n3;5;right\n", {}),
    "decimal commas, no header": ("a.csv", "1,5;1200;left\n2,5;300;right\n0,5;40;left\n3;5;right\n", {"target": 3}),
    "both separators": ("a.csv", "x;y;side\n1,5;1.200,0;left\n2,5;300;right\n0,5;40;left\n3;5;right\n", {}),
    "tabs": ("a.TSV", "x\ty\tside\n1.5\t1200\tleft\n2.5\t300\tright\n.5\t40\tleft\n3\t5\tright\n", {}),
    "white space": ("a.dat", "x y side\n1.5  1200 le\n2.5 300  ri\n.5 40 le\n3 5 ri\n", {"delimiter": " "}),
    "packed": ("a.csv.gz", "x,y,side\n1.5,1200,left\n2.5,300,right\n.5,40,left\n3,5,right\n", {}),
    "capitals": ("A.CSV", "x,y,side\n1.5,1200,left\n2.5,300,right\n.5,40,left\n3,5,right\n", {}),
    "UTF-16": ("utf-16.csv", "x\ty\tside\n1.5\t1200\tleft\n2.5\t300\tright\n.5\t40\tleft\n3\t5\tright\n", {}),
    "sep=": ("a.csv", "sep=;\r\nx;y;side\r\n1.5;1200;left\r\n2.5;300;right\r\n.5;40;left\r\n3;5;right\r\n", {}),
    "a mark": ("a.csv", "\ufeffx,y,side\n1.5,1200,left\n2.5,300,right\n.5,40,left\n3,5,right\n", {}),
    "thousands": ("a.csv", 'x,y,side\n1.5,"1,200.0",left\n2.5,300,right\n.5,40,left\n3,5,right\n', {}),
    "named thousands": (
        "a.csv", 'x,y,side\n1.5,"1,200",a\n2.5,300,b\n.5,40,a\n3,5,b\n', {"thousands": ","}
    ),
    "blanks of thousands": ("a.csv", "x;y;side\n1,5;1 200;left\n2,5;300;right\n,5;40;left\n3;5;right\n", {}),
    "delimiters at the end": ("a.csv", "x,y,side\n1.5,1200,a,\n2.5,300,b,\n.5,40,a,\n3,5,b,\n,,,\n", {}),
    "ARFF": (
        "a.arff",
        "% old\n@RELATION r\n@attribute 'x 1' numeric\n@attribute y REAL\n@attribute side {None,'to b'}\n@DATA\n"
        "1.5,1200,None\n2.5,300,'to b'\n.5,40,None\n% of 2\n3,5,'to b'\n?,5,None\n",
        {"missing": "drop"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("file", "text", "options"), AS_PEOPLE_HAVE_THEM.values(), ids=AS_PEOPLE_HAVE_THEM)
@pytest.mark.filterwarnings("default")
def test_tables_as_people_have_them(tmp_path, file, text, options):
    content = text.encode("utf-16" if file.startswith("utf-16") else "utf-8")
    (tmp_path / file).write_bytes(gzip.compress(content) if file.endswith("gz") else content)
    name, definition = table_of(f"{tmp_path / file}:side")
    data = load_own(name, {**definition, **options})
    np.testing.assert_array_equal(data.features, WANTED)
    assert data.labels.tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])
    assert len(data.class_names) == 2


def test_row_numbers_are_left_out_with_a_sentence(tmp_path):
    with pytest.warns(UserWarning, match=r"a\.csv: column 'Id' numbers or names the rows, and is left out"):
        load(tmp_path / "a.csv", "Id,x,side\n7,1,a\n5,2,b\n9,4,a\n", target="side")
    rows = "".join(f"{row},{row % 7},{row % 2}\n" for row in range(60))
    with pytest.warns(UserWarning, match=r"column 'n' counts the rows.*drop: \[n\]"):
        assert load(tmp_path / "b.csv", "n,x,class\n" + rows).feature_names == ("n", "x")


def test_decimal_commas_are_no_delimiters_where_semicolons_are(tmp_path):
    data = load(tmp_path / "a.csv", "1,5;a\n2,5;b\n0,5;a\n", target=2)
    np.testing.assert_array_equal(data.features, [[1.5], [2.5], [0.5]])


def test_words_become_columns_of_0_and_1(tmp_path):
    text = "hue,x,sex,side\nred,1,f,a\nblue,2,m,b\nnone,4,m,a\nred,3,f,b\n"
    data = load(tmp_path / "a.csv", text, target="side", one_hot=True)
    assert data.feature_names == ("hue=blue", "hue=none", "hue=red", "x", "sex=m")
    np.testing.assert_array_equal(data.features[:3], [[0, 0, 1, 1, 0], [1, 0, 0, 2, 1], [0, 1, 0, 4, 1]])
    data = load(tmp_path / "a.csv", text, target="side", one_hot=["hue", "sex"], drop=["x"])
    assert data.feature_names == ("hue=blue", "hue=none", "hue=red", "sex=m")
    with pytest.raises(InputError, match=r"column 'sex' holds 'f' in row 1.*one_hot: \[sex\]"):
        load(tmp_path / "a.csv", text, target="side", one_hot=["hue"])


def test_what_is_no_text_or_not_there_is_said(tmp_path):
    for content, words in (
        (b"PK\x03\x04rest", "is a workbook or zip archive; save the table as CSV"),
        ("x,größe\n1,a\n2,b\n".encode("cp1252"), "no table of UTF-8 text: .*encoding: cp1252"),
        ("x,y\n1,a\n".encode("utf-16-le"), "holds zero bytes.*encoding: utf-16-le"),
    ):
        (tmp_path / "a.csv").write_bytes(content)
        with pytest.raises(InputError, match=words):
            load_own("mine", {"loader": "csv", "path": str(tmp_path / "a.csv"), "target": "y"})
    with pytest.raises(InputError, match=r"b\.xlsx is no text file; save the table as CSV"):
        table_of("b.xlsx")
    with pytest.raises(InputError, match=r"there is no file nowhere\.csv"):
        load_own("mine", {"loader": "csv", "path": "nowhere.csv"})
    with pytest.raises(InputError, match="path is missing"):
        load_own("mine", {"loader": "csv"})


def test_a_changed_file_is_noticed_by_its_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(CSV)
    config = {"datasets": {"mine": {"loader": "csv", "path": str(path), "target": "side"}}}
    before = registry_of(config)["mine"]
    path.write_text(CSV + "9,9,left\n")
    after = registry_of(config)["mine"]
    assert (before.n_samples, after.n_samples) == (4, 5)
    assert before.content_sha256 != after.content_sha256
