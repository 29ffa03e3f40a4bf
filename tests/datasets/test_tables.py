"""Files as data sets by one line of a configuration, and what is said of those that are none."""

import numpy as np
import pytest

from kdrbench.datasets import load_own, registry_of
from kdrbench.errors import InputError

CSV = "width,height,side\n1.5,2,left\n2.5,3,right\n0.5,1e1,left\n3,4,right\n"


def load(path, text, **options):
    path.write_text(text)
    return load_own("mine", {"loader": path.suffix[1:], "path": str(path), **options})


def test_a_file_is_a_data_set(tmp_path):
    data = load(tmp_path / "a.csv", CSV, target="side")
    np.testing.assert_array_equal(data.features, [[1.5, 2], [2.5, 3], [0.5, 10], [3, 4]])
    assert data.class_names == ("left", "right")
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert data.feature_names == ("width", "height")


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


def test_a_changed_file_is_noticed_by_its_values(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(CSV)
    config = {"datasets": {"mine": {"loader": "csv", "path": str(path), "target": "side"}}}
    before = registry_of(config)["mine"]
    path.write_text(CSV + "9,9,left\n")
    after = registry_of(config)["mine"]
    assert (before.n_samples, after.n_samples) == (4, 5)
    assert before.content_sha256 != after.content_sha256
