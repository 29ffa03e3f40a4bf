"""Fits of samples that are read in passes against fits in memory, and their errors."""

import dataclasses
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.estimators import InterpretableKDR
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.evaluation.streaming import sums_of_monomials
from kdrbench.kernels import Linear, Multiquadric, Polynomial, Squared
from kdrbench.kernels.median import median_distance
from kdrbench.problems import FactoredGamma, TraceObjective, supervised_gamma
from kdrbench.samples import samples_of
from kdrbench.samples.passes import ThreadEngine
from support.equal_oracles import assert_equal_oracles
from support.helpers import traced_memory
from support.products import crossed

KERNELS = {
    "linear": Linear(),
    "squared": Squared(),
    "polynomial": Polynomial(3, 1.0, 0.3),
    "without offset": Polynomial(2, 0.0, 0.5),
    "of degree 1": Polynomial(1, 2.0, 0.5),
    "of degree 4": Polynomial(4, 0.5, 0.1),
}


def random_case(seed, n_samples=90):
    """Return features and a Gamma; with labels in all orders and d > n among them."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(3, 9)) if seed % 4 else n_samples + 30
    labels = rng.integers(0, 3, n_samples)
    features = rng.standard_normal((n_samples, d)) * rng.uniform(0.2, 1.5, d) + rng.uniform(-2, 2, d)
    features[:, 0] += labels
    if seed % 3 == 0:
        gamma = FactoredGamma(rng.standard_normal((n_samples, 3)), np.array([1.0, -2.0, 0.5]), seed % 2 == 0)
    else:
        gamma = supervised_gamma(np.sort(labels) if seed % 3 == 1 else labels, zero_diagonal=seed % 2 == 0)
    return features, gamma


@pytest.mark.parametrize("name", KERNELS)
def test_sums_of_monomials_are_those_of_dense_arrays(name):
    for seed in range(12):
        features, gamma = random_case(seed)
        objective = TraceObjective(features, KERNELS[name], gamma)
        # Sums of 90^2 terms of both signs.
        assert_equal_oracles(sums_of_monomials(objective), DenseProblem(objective), 3, rounding=1e-11)


def classes(n_samples=12_000, n_features=6, seed=0, *, in_order=False):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n_samples)
    labels = np.sort(labels) if in_order else labels
    samples = rng.standard_normal((n_samples, n_features)) + 2 * rng.standard_normal((3, n_features))[labels]
    return samples.astype(np.float32), labels


def zarr_array(values, **options):
    import zarr

    return zarr.array(values, **options)


def every_source(table, path):
    import dask.array

    np.save(path / "table.npy", table)
    bounds = [0, 10, 10, len(table) // 2, len(table)]
    chunks = [table[begin:end] for begin, end in pairwise(bounds)]
    yield "file", samples_of(np.load(path / "table.npy", mmap_mode="r"))
    yield "zarr", zarr_array(table, chunks=(7000, 4))
    yield "dask", dask.array.from_array(table, chunks=(5000, 4))
    yield "chunks", chunks
    yield "function", lambda: iter(chunks)


def test_transform_returns_like_with_like(tmp_path):
    table, labels = classes(3000)
    model = InterpretableKDR(2, kernel="linear").fit(table, labels)
    expected = model.transform(table.astype(float))
    for name, source in every_source(table, tmp_path):
        found = model.transform(source)
        if name == "dask":
            assert type(found).__module__.startswith("dask.array")
            assert found.shape == (3000, 2)
            found = found.compute()
        elif name in ("chunks", "function"):
            assert not hasattr(found, "shape")
            found = list(found)
            assert [len(part) for part in found] == [10, 0, 1490, 1500]
            found = np.vstack(found)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
    assert sum(len(part) for part in model.transform(chunk for chunk in [(table, labels)])) == 3000
    with pytest.raises(ValueError, match="expecting 6 features"):
        list(model.transform([table[:, :2]]))
    with pytest.raises(ValueError, match="1 NaN or infinite values"):
        model.transform(zarr_array(np.full((1, 6), [[np.nan, 1, 1, 1, 1, 1]])))


@pytest.mark.slow("the only fits that read every kind of source")
@pytest.mark.parametrize(
    ("kernel", "in_order"),
    crossed(["squared", "gaussian", "polynomial", "linear"], [False, True], ["squared"], [False]),
)
def test_every_source_gives_the_fit_in_memory(kernel, in_order, tmp_path):
    table, labels = classes(in_order=in_order)
    options = {"kernel": kernel, "evaluation": {"tolerance": 0.0}}
    one = InterpretableKDR(2, **options).fit(samples_of(table), labels)
    two = InterpretableKDR(2, n_jobs=2, **options).fit(samples_of(table), labels)
    for name, source in every_source(table, tmp_path):
        model = InterpretableKDR(2, **options).fit(source, labels)
        for other in (two, model):
            np.testing.assert_array_equal(other.components_, one.components_, err_msg=name)
            assert (other.objective_, other.n_iter_) == (one.objective_, one.n_iter_), name
            assert other.certificate_ == one.certificate_, name
    assert one.result_.evaluation.startswith("class_sums" if kernel == "gaussian" else "monomial_sums: 12000 streamed")
    in_memory = InterpretableKDR(2, **options).fit(table.astype(float), labels)
    assert in_memory.objective_ == pytest.approx(one.objective_, rel=1e-6)
    assert one.certificate_.stationarity <= 1e-6
    # Both are that stationary, and the curvature is some tenths of the scale of Phi.
    turn = one.components_ - one.components_ @ in_memory.components_.T @ in_memory.components_
    assert np.linalg.norm(turn) <= 1e-5


def test_labels_come_from_where_samples_do():
    import dask.array

    table, labels = classes(5000)
    names = np.array(["b", "a", "c"])[labels]
    chunks = [(table[:2000], names[:2000]), (table[2000:], names[2000:])]
    reference = InterpretableKDR(2, kernel="squared").fit(table, names)
    for samples, known, expected in (
        (zarr_array(table), names.tolist(), ["a", "b", "c"]),
        (zarr_array(table), zarr_array(labels), [0, 1, 2]),
        (zarr_array(table), dask.array.from_array(names, chunks=300), ["a", "b", "c"]),
        (chunks, None, ["a", "b", "c"]),
    ):
        model = InterpretableKDR(2, kernel="squared").fit(samples, known)
        assert model.classes_.tolist() == expected
        assert model.n_features_in_ == 6
        assert model.objective_ == pytest.approx(reference.objective_, rel=1e-12)


def test_errors_say_what_to_do():
    table, labels = classes(900)
    stream = zarr_array(table)
    for options, y, words in (
        ({"kernel": "multiquadric"}, labels, "one of the kernels linear, squared, polynomial, gaussian"),
        ({"kernel": Multiquadric(1.0)}, labels, "one of the kernels linear, squared, polynomial, gaussian"),
        ({"kernel": "linear", "evaluation": {"evaluator": "panels"}}, labels, "by 'monomial_sums' for this kernel"),
        ({"paradigm": "unsupervised", "paradigm_params": {"n_clusters": 2}}, None, "got paradigm 'unsupervised'"),
        ({"kernel": "linear"}, None, "requires y to be passed"),
        ({"kernel": "linear"}, labels[:7], r"need one label each, 900; got shape \(7,\)"),
        ({"kernel": "linear"}, labels + 0.5, "Unknown label type"),
        ({"kernel_params": {"sigma": 0.05}}, labels, "the bandwidth is too narrow for this number of components"),
    ):
        with pytest.raises(ValueError, match=words):
            InterpretableKDR(3, **options).fit(stream, y)
    with pytest.raises(InputError, match="given twice"):
        InterpretableKDR(2, kernel="linear").fit([(table, labels)], labels)
    with pytest.raises(InputError, match="a function that returns a new iterator"):
        InterpretableKDR(2, kernel="linear").fit(iter([table]), labels)


def test_only_what_the_engine_is_given_is_read():
    """The callables hold no samples, and every pass of a fit goes through the engine."""
    import cloudpickle

    table, labels = classes(20_000)
    sizes = []

    @dataclasses.dataclass(frozen=True)
    class Sent:
        def run(self, samples, parts, partial_sums, report=None):
            sent = cloudpickle.dumps(partial_sums)
            sizes.append(len(sent))
            return ThreadEngine().run(samples, parts, cloudpickle.loads(sent), report)

    for kernel in ("gaussian", "polynomial"):
        sizes.clear()
        there = InterpretableKDR(2, kernel=kernel, evaluation={"engine": Sent()}).fit(samples_of(table), labels)
        here = InterpretableKDR(2, kernel=kernel).fit(samples_of(table), labels)
        np.testing.assert_array_equal(there.components_, here.components_)
        assert sizes
        assert max(sizes) < table.nbytes / 4


def test_the_exact_median_of_a_large_stream_is_refused():
    table, labels = classes(140_000, n_features=2)
    with pytest.raises(InputError, match="exact median distance of 140000 streamed samples"):
        InterpretableKDR(1, kernel_params={"sigma": "exact median"}).fit([table], labels)
    few = samples_of(table[:3000])
    model = InterpretableKDR(1, kernel_params={"sigma": "exact median"}).fit(few, labels[:3000])
    assert model.kernel_.sigma == pytest.approx(median_distance(table[:3000].astype(float)), rel=1e-12)


@pytest.mark.parametrize("kind", ["chunks", "zarr"])
def test_a_fit_holds_no_more_than_a_few_chunks(kind):
    rng, n_chunks = np.random.default_rng(0), 40
    labels = rng.integers(0, 4, 20_000).astype(np.int8)
    table = rng.standard_normal((20_000, 20), dtype=np.float32) + labels[:, None].astype(np.float32)
    X, y = (lambda: ((table * np.float32(1 + number / 100), labels) for number in range(n_chunks))), None
    if kind == "zarr":
        y = np.tile(labels, n_chunks)
        X = zarr_array(np.vstack([chunk for chunk, _ in X()]), chunks=(20_000, 20))
    InterpretableKDR(2, kernel="linear").fit(X, y)
    with traced_memory() as traced:
        model = InterpretableKDR(2, kernel="linear").fit(X, y)
    assert model.result_.evaluation == "monomial_sums: 800000 streamed samples"
    # All samples are 64 MB in single precision.
    assert traced.peak < n_chunks * table.nbytes


SCRIPT = """
import sys
import numpy as np
from pathlib import Path
from kdrbench.estimators import InterpretableKDR

rng, rows, n_chunks = np.random.default_rng(0), 100_000, 100
labels = rng.integers(0, 4, rows).astype(np.int8)
table = rng.standard_normal((rows, 20), dtype=np.float32) + labels[:, None].astype(np.float32)
with open(sys.argv[1], "wb") as file:
    for number in range(n_chunks):
        (table * np.float32(1 + number / 100)).tofile(file)
X = np.memmap(sys.argv[1], np.float32, "r", shape=(n_chunks * rows, 20))
model = InterpretableKDR(2, kernel="linear").fit(X, np.tile(labels, n_chunks))
peak = next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(f"{model.status_}, {model.result_.evaluation}, {peak}")
"""


@pytest.mark.whole
def test_ten_million_samples_in_a_file_take_less_than_512_mib(tmp_path):
    # Samples are 763 MiB; the peak counts pages of the file that are mapped, and all that Python imports.
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "x")], capture_output=True, text=True, check=True
    )
    fit, peak = done.stdout.rsplit(", ", 1)
    assert fit == "converged, monomial_sums: 10000000 streamed samples"
    assert int(peak) < 512 * 2**10
