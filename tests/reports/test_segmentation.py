"""Pictures of alternative clusters, from an image of four colours and from faces of two greys."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from kdrbench.datasets import Dataset, save_prepared
from kdrbench.datasets.picture import picture_bytes
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import DataError
from kdrbench.reports.segmentation import draw_rows, has_pictures, mean_faces, segmentation_rows, segmented
from made_up import run

# Rows of pixels; the distinct colours in lexicographic order are blue, dark red, red, white.
BLUE, DARK, RED, WHITE = [0, 0, 200], [100, 0, 0], [200, 0, 0], [250, 250, 250]
PIXELS = np.array([[RED, RED, RED, DARK], [WHITE, BLUE, BLUE, WHITE]], dtype=np.uint8)
GIVEN, FOUND = np.array([1, 1, 1, 0]), np.array([0, 1, 1, 0])
EXPERIMENT = {
    "title": "T.",
    "paradigm": "alternative",
    "datasets": ["flower", "four-gaussians", "face"],
    "kernels": ["gaussian"],
    "solvers": ["ism"],
}


def colours():
    samples = np.array([BLUE, DARK, RED, WHITE], dtype=float)
    return Dataset("flower", samples, np.zeros(0, dtype=np.int64), ("r", "g", "b"), ())


# What the names of its arrays begin with.
CELL = "gaussian/ism/"


def faces():
    images = np.repeat([[10.0], [20.0], [90.0]], 960, axis=1)
    images[0, 5] = 250.0
    return Dataset("face", images, np.array([0, 1, 0]), tuple(map(str, range(960))), ("x", "y"))


@pytest.fixture
def folder(tmp_path):
    Image.fromarray(PIXELS).save(tmp_path / "flower.png")
    save_prepared(colours(), tmp_path / "flower.npz")
    save_prepared(faces(), tmp_path / "face.npz")
    np.savez(tmp_path / "flower-ism.npz", **{f"{CELL}labels_0": FOUND, f"{CELL}given_0": GIVEN})
    np.savez(
        tmp_path / "face-ism.npz", **{f"{CELL}labels_0": np.array([0, 0, 1]), f"{CELL}given_0": np.array([0, 1, 0])}
    )
    return tmp_path


def test_pixels_are_painted_with_the_mean_colour_of_their_cluster(folder):
    image, given, found = segmented(folder / "flower.png", colours(), GIVEN, FOUND)
    np.testing.assert_array_equal(image.pixels, PIXELS)
    # Of pixels: three are red, one dark, two blue.
    mixed = [(3 * 200 + 100) // 6 + 1, 0, round(2 * 200 / 6)]
    np.testing.assert_array_equal(given.pixels, [[mixed] * 4, [WHITE, mixed, mixed, WHITE]])
    reddish, bluish = [175, 0, 0], [125, 125, 225]
    np.testing.assert_array_equal(found.pixels, [[reddish] * 4, [bluish] * 4])


def test_an_image_that_is_not_the_data_sets_is_refused(folder):
    other = Dataset("flower", colours().features + 1.0, np.zeros(0, dtype=np.int64), ("r", "g", "b"), ())
    with pytest.raises(DataError, match=r"flower.png does not have the colours of data set 'flower'; delete it"):
        segmented(folder / "flower.png", other, GIVEN, FOUND)


def test_faces_of_a_cluster_are_averaged_upright():
    first, second = mean_faces(faces(), np.array([0, 0, 1]))
    assert (first.title, second.title) == ("alternative 1, n = 2", "alternative 2, n = 1")
    assert first.pixels.shape == (30, 32)
    # Pixels run along the rows: the sixth is in the first row.
    assert (first.pixels[0, 5], first.pixels[5, 0], second.pixels[0, 0]) == (135, 15, 90)


def test_rows_say_how_the_clusters_agree_and_others_have_no_picture(folder):
    runs = pd.DataFrame(
        [
            run("flower", "ism", 0, nmi_given=0.0066, quality=None),
            run("face", "ism", 0, nmi_given=0.05, quality=0.44),
            run("four-gaussians", "ism", 0, nmi_given=0.0, quality=1.0),
        ]
    )
    np.savez(folder / "four-gaussians-ism.npz", **{f"{CELL}labels_0": FOUND, f"{CELL}given_0": GIVEN})
    rows = list(segmentation_rows(runs, folder, folder, EXPERIMENT))
    assert [(title, len(pictures)) for title, pictures in rows] == [
        ("Flower: NMI to the given labelling 0.007", 3),
        ("Face: NMI to the given labelling 0.050, to the one sought 0.440", 2),
    ]
    figure = draw_rows(rows)
    shown = [axes.images[0].get_array() for axes in figure.axes]
    assert [image.shape for image in shown] == [(2, 4, 3)] * 3 + [(30, 32)] * 2
    # A failed run has no picture, and that is not an error.
    assert list(segmentation_rows(runs.assign(status="failed"), folder, folder, EXPERIMENT)) == []
    assert draw_rows([]).axes == []


def test_which_sets_have_pictures():
    assert [name for name, entry in load_registry().items() if has_pictures(entry)] == ["face", "flower", "flower-106"]


def test_only_an_image_can_be_fetched_as_one():
    with pytest.raises(DataError, match="data set 'wine' is no image of which the colours are the samples"):
        picture_bytes("wine")
