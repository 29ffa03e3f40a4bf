"""Pictures of alternative clusters, from an image of four colours and from faces of two greys."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from kdrbench.datasets import Dataset, save_prepared
from kdrbench.errors import DataError
from kdrbench.suite.reports.figures.chart import Chart, from_png
from kdrbench.suite.reports.figures.draw_matplotlib import draw
from kdrbench.suite.systems.ikdr.projections import mean_faces, segmentation, segmented
from support.report_rows import experiment_of, run

# Rows of pixels; the distinct colours in lexicographic order are blue, dark red, red, white.
BLUE, DARK, RED, WHITE = [0, 0, 200], [100, 0, 0], [200, 0, 0], [250, 250, 250]
PIXELS = np.array([[RED, RED, RED, DARK], [WHITE, BLUE, BLUE, WHITE]], dtype=np.uint8)
LABELS = FOUND, GIVEN = np.array([0, 1, 1, 0]), np.array([1, 1, 1, 0])
EXPERIMENT = experiment_of("ism", paradigm="alternative", datasets=["flower", "four-gaussians", "face"])


def colours():
    samples = np.array([BLUE, DARK, RED, WHITE], dtype=float)
    return Dataset("flower", samples, np.zeros(0, dtype=np.int64), ("r", "g", "b"), ())


def faces():
    images = np.repeat([[10.0], [20.0], [90.0]], 960, axis=1)
    images[0, 5] = 250.0
    return Dataset("face", images, np.array([0, 1, 0]), tuple(map(str, range(960))), ("x", "y"))


@pytest.fixture
def folder(tmp_path):
    Image.fromarray(PIXELS).save(tmp_path / "flower.png")
    for dataset in (colours(), faces()):
        save_prepared(dataset, tmp_path / f"{dataset.name}.npz")
    of_face = np.array([0, 0, 1]), np.array([0, 1, 0])
    for name, (found, given) in {"flower": LABELS, "face": of_face, "four-gaussians": LABELS}.items():
        cell = f"{name}/gaussian/ism"
        np.savez(tmp_path / f"{name}-ism.npz", **{f"{cell}/labels_0": found, f"{cell}/given_0": given})
    return tmp_path


def test_pixels_have_the_mean_colour_of_their_cluster(folder):
    image, given, found = segmented(folder / "flower.png", colours(), GIVEN, FOUND)
    np.testing.assert_array_equal(from_png(image.picture), PIXELS)
    # Of pixels: three are red, one dark, two blue.
    mixed = [(3 * 200 + 100) // 6 + 1, 0, round(2 * 200 / 6)]
    np.testing.assert_array_equal(from_png(given.picture), [[mixed] * 4, [WHITE, mixed, mixed, WHITE]])
    reddish, bluish = [175, 0, 0], [125, 125, 225]
    np.testing.assert_array_equal(from_png(found.picture), [[reddish] * 4, [bluish] * 4])
    # An image that is not the data set's is refused.
    other = replace(colours(), features=colours().features + 1.0)
    with pytest.raises(DataError, match=r"flower.png does not have the colours of data set 'flower'; delete it"):
        segmented(folder / "flower.png", other, GIVEN, FOUND)


def test_faces_of_a_cluster_are_averaged_upright():
    first, second = mean_faces(faces(), np.array([0, 0, 1]))
    assert (first.title, second.title) == ("alternative 1, n = 2", "alternative 2, n = 1")
    pixels = from_png(first.picture)
    assert pixels.shape == (30, 32)
    # Pixels run along the rows: the sixth is in the first row. It has 135, the brightest of both means.
    assert (pixels[0, 5], pixels[5, 0]) == (255, round(15 * 255 / 135))
    assert (from_png(second.picture) == round(90 * 255 / 135)).all()


@pytest.fixture
def source(folder):
    numbers = {"flower": (0.0066, None), "face": (0.05, 0.44), "four-gaussians": (0.0, 1.0)}
    runs = [run(name, "ism", 0, nmi_given=given, quality=sought) for name, (given, sought) in numbers.items()]
    return SimpleNamespace(runs=pd.DataFrame(runs), stored=(folder, folder), name="e", experiment=EXPERIMENT)


def test_each_set_has_a_row_that_says_how_the_clusters_agree(source):
    chart = segmentation(source)
    assert [(row[0].heading, len(row)) for row in chart.rows] == [
        ("Flower: NMI to the given labelling 0.007", 3),
        ("Face: NMI to the given labelling 0.050, to the one sought 0.440", 2),
    ]
    assert (chart.name, chart.columns, Chart.from_json(chart.to_json())) == ("e_segmentation", 3, chart)
    # Paper shows the pixels as they are.
    figure = draw(chart)
    shown = [axes.images[0] for axes in figure.axes if axes.images]
    assert [image.get_array().shape for image in shown] == [(2, 4, 3)] * 3 + [(30, 32)] * 2
    np.testing.assert_array_equal(shown[0].get_array(), PIXELS)
    # Greys are not stretched: the means of two clusters can be compared.
    assert {image.get_clim() for image in shown[3:]} == {(0, 255)}
    assert [part.get_suptitle()[:6] for part in figure.subfigs] == ["Flower", "Face: "]
    # A failed run has no picture, and that is not an error.
    source.runs["status"] = "failed"
    assert segmentation(source) is None
