"""Files as data sets by one line of a configuration, and what is said of those that are none."""

import json
import sys

import numpy as np
import pytest

from kdrbench.datasets import load_own, registry_of
from kdrbench.errors import InputError
from kdrbench.extras import MissingPackageError

ROWS = ["1.5,2,left", "2.5,3,right", "0.5,1e1,left", "3,4,right"]
CSV = "\n".join(["width,height,side", *ROWS]) + "\n"
ARFF = "@relation r\n@attribute width numeric\n@attribute height numeric\n@attribute side {left,right}\n@data\n"


def load(path, text, **options):
    path.write_text(text)
    return load_own("mine", {"loader": path.suffix[1:], "path": str(path), **options})


@pytest.mark.parametrize(("name", "text"), [("a.csv", CSV), ("a.arff", ARFF + "\n".join(ROWS) + "\n")])
def test_a_file_is_a_data_set(tmp_path, name, text):
    data = load(tmp_path / name, text, target="side")
    np.testing.assert_array_equal(data.features, [[1.5, 2], [2.5, 3], [0.5, 10], [3, 4]])
    assert data.class_names == ("left", "right")
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert data.feature_names == ("width", "height")


def test_a_parquet_file_is_a_data_set(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    definition = {"loader": "parquet", "path": str(path), "target": "y"}
    columns = {"x": [1, 2, None, 4, 5], "z": [0.5, 1.5, 2.5, 3.5, 4.5], "y": ["a", "b", "a", "b", "a"]}
    parquet.write_table(pa.table(columns), path)
    data = load_own("mine", {**definition, "missing": "drop"})
    np.testing.assert_array_equal(data.features, [[1, 0.5], [2, 1.5], [4, 3.5], [5, 4.5]])
    assert (data.class_names, data.feature_names) == (("a", "b"), ("x", "z"))
    with pytest.raises(InputError, match=r"missing in 1 row, in columns x \(1\)"):
        load_own("mine", definition)
    # A frame of pandas whose rows have names, and classes that are categories.
    rows = {"index_columns": ["__index_level_0__"], "columns": [], "pandas_version": "2"}
    named = {"x": [1, 2, 3, 4], "y": pa.array(["a", "b", "a", "b"]).dictionary_encode(), "__index_level_0__": [7] * 4}
    parquet.write_table(pa.table(named).replace_schema_metadata({"pandas": json.dumps(rows)}), path)
    assert load_own("mine", definition).feature_names == ("x",)
    parquet.write_table(pa.table([[1, 2], [3, 4], ["a", "b"]], names=["x", "x", "y"]), path)
    with pytest.raises(InputError, match="two columns are called 'x'"):
        load_own("mine", definition)
    path.write_text("no")
    with pytest.raises(InputError, match="is no Parquet file"):
        load_own("mine", definition)


def test_a_parquet_file_needs_an_extra_that_is_named(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_text("no")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = r"a\.parquet, a Parquet file, needs the package pyarrow, .*: pip install '.*\[parquet\]'"
    with pytest.raises(MissingPackageError, match=message):
        load_own("mine", {"loader": "parquet", "path": str(tmp_path / "a.parquet"), "target": "y"})


OF_OPENML = """% a comment
@RELATION 'two words'

@ATTRIBUTE 'petal width' REAL
@attribute count INTEGER
@attribute "Class" {'Iris setosa', other}
@DATA
% another
1.5,2,'Iris setosa'
?,3,other
2.5,4,other
3.5,5,'Iris setosa'
"""


def test_files_of_openml_have_comments_quotes_and_question_marks(tmp_path):
    data = load(tmp_path / "a.arff", OF_OPENML, missing="drop")
    np.testing.assert_array_equal(data.features, [[1.5, 2], [2.5, 4], [3.5, 5]])
    assert (data.class_names, data.labels.tolist()) == (("Iris setosa", "other"), [0, 1, 0])
    assert data.feature_names == ("petal width", "count")


def test_columns_are_left_out_and_class_is_the_target(tmp_path):
    text = "id;x;Class\n" + "".join(f"row {number};{number};{number % 2}\n" for number in range(4))
    data = load(tmp_path / "a.csv", text, delimiter=";", drop=["id"])
    assert data.feature_names == ("x",)
    assert data.class_names == ("0", "1")


def test_rows_with_missing_values_are_left_out_on_request(tmp_path):
    data = load(tmp_path / "a.csv", CSV + "?,1,left\n,2,right\n", target="side", missing="drop")
    assert data.features.shape == (4, 2)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (CSV, {}, "which column holds the classes.*a.csv:COLUMN, .*target: COLUMN, one of width, height, side"),
        (CSV, {"target": "sid"}, "unknown column 'sid'.*Did you mean 'side'"),
        (CSV, {"target": "side", "drop": ["hight"]}, "drop: unknown column 'hight'.*Did you mean 'height'"),
        (CSV, {"target": "width"}, "column 'side' holds 'left' in row 1, which is no number"),
        (CSV.replace(",", ";"), {"target": "side"}, "single column.*delimiter seems to be ';': write delimiter"),
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


def test_a_file_that_is_not_there_or_has_no_path(tmp_path):
    with pytest.raises(InputError, match=r"there is no file nowhere\.csv"):
        load_own("mine", {"loader": "csv", "path": "nowhere.csv"})
    with pytest.raises(InputError, match="path is missing"):
        load_own("mine", {"loader": "csv"})
    with pytest.raises(InputError, match=r"no ARFF file of numeric and nominal attributes.*save it as CSV"):
        load(tmp_path / "a.arff", "@relation r\n@attribute x string\n@data\nword\n", target="x")


def test_a_changed_file_is_noticed_by_its_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(CSV)
    config = {"datasets": {"mine": {"loader": "csv", "path": str(path), "target": "side"}}}
    before = registry_of(config)["mine"]
    path.write_text(CSV + "9,9,left\n")
    after = registry_of(config)["mine"]
    assert (before.n_samples, after.n_samples) == (4, 5)
    assert before.content_sha256 != after.content_sha256
