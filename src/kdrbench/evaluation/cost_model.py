"""The one place that decides how a problem is evaluated, within what whoever asks for it leaves open.

| evaluator | what it is | time of a surrogate | memory beyond the data |
|---|---|---|---|
| dense | n x n arrays, held between calls at one W | n^2 (d + c) | n^2 |
| panels | the same sums, block by block | n^2/2 (d + c) | n q + d^2 |
| factored | monomial features; linear, squared, polynomial kernels | n m (d + q + c) + n d^2 | n q + k m d + d^2 |
| monomial_sums | the same from sums over chunks of streamed samples | n m (d + q + c) + n d^2 | k m d + d^2 |
| grid | splines on a grid of m nodes; one function of differences | n 8^q d + k m d log m + n d^2 | k m d + d^2 |
| class_sums | sums in a basis of m functions; Gaussian kernels | n m (d + q + c) + n d^2 | k m d + d^2 |
| low_rank | a factor of a Gaussian's kernel matrix, to the ``tolerance`` | n m (d + m) + n d^2 | n m + k m d + d^2 |
| autograd | F as a formula, its derivatives by autograd; no surrogate | several times dense | n^2 |
| pairwise_sum | a loop over pairs of samples | n^2 d^2, and n^2 steps of Python | n^2 |

The last two are only made on request. c is the cost of making and weighing one kernel value or one feature, measured in
multiplications; there are m = C(q + p - 1, p - 1) features for degree p and k classes, or as many factors of Gamma
where it has no classes. docs/evaluation.md says when each is chosen, and how exact it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import Annotated

import numpy as np

from kdrbench.arrays import Device, is_device_array
from kdrbench.errors import InputError
from kdrbench.kernels import Combination, Gaussian, Kernel, Linear, Polynomial, Squared
from kdrbench.kernels.combination import has_constant_slope, is_of_differences
from kdrbench.parameters import COUNT, FLAG, POSITIVE, Interval, OneOf, check_parameters, optional
from kdrbench.problems import FactoredGamma, TraceObjective
from kdrbench.samples import Engine, SparseSamples

# Families of kernels that are sums over samples, without pairs.
STREAMED_FAMILIES = ("linear", "squared", "polynomial", "gaussian")
# Sums in single precision are this near, with a margin of ten.
SINGLE_PRECISION = 1e-5
EVALUATORS = (
    *("auto", "dense", "panels", "factored", "monomial_sums", "class_sums", "low_rank", "grid"),
    *("autograd", "pairwise_sum"),
)

# Measured on Wine, Cancer, WDBC and made data with one thread: below this the n x n arrays stay in the cache.
_DENSE_SAMPLES = 400
PER_VALUE = 30
# What the factored evaluation spends on many small steps, in multiplications.
_FACTORED_OVERHEAD = 2.5e6
# From this many samples on a factor of any useful rank is cheaper than all pairs (it is known only at a W).
_APPROXIMATION_SAMPLES = 2000
# A factor of higher rank than this, or than this share of n, costs more than the panels it is to save.
_LARGEST_RANK, _LARGEST_SHARE = 200, 0.05
# Making a factor takes m^2 steps a sample, and n steps of all pairs this many times as long (measured, q of 5 to 20).
_PAIRS_TO_FACTOR = 16
# The tolerance of the cheaper problem that a solver may begin with; measured on MNIST: 1e-2 needs twice the passes.
_APPROXIMATION_TOLERANCE = 1e-3
# The same for class sums with a proof, and for what begins before them, rougher by more than this factor.
_SUMS_TOLERANCES, _ROUGHER = (2e-4, 2e-2), 30.0
_ROUGHEST = 0.1
# Class sums before panels: so near that one or two exact passes are left (MNIST, q = 10).
_BEFORE_PANELS = 1e-5
# The error of the gradient that class sums prove, relative to it, where no tolerance is given.
PROVED = 1e-7
# An approximate kernel matrix gets so near in stationarity, as a share of its tolerance; single precision so near.
_FACTOR_ACCURACY, _SINGLE_ACCURACY = 0.1, 1e-4
# From here on class sums with a proof are quicker than one exact pass; and with a tolerance, a factor is large.
SUMS_SAMPLES, _FACTOR_SAMPLES = 20_000, 100_000
# On more dimensions bases that prove as much are too large (MNIST, q = 10), but where pairs are out of the question.
_PROVED_COMPONENTS = 6
# More dimensions have grids of too many nodes. The error of the gradient on a grid, relative to it, as it is measured.
GRID_COMPONENTS, GRID_ACCURACY = 2, 1e-8
# With classes, fits and certificates by a grid are quicker than by all pairs from here on (multiquadrics, q = 1, 2).
GRID_SAMPLES = 5000
# Nodes, times groups, as a share of the pairs up to which a convolution is quicker than a pass over these (measured).
_NODES_TO_PAIRS, _FEWEST_NODES, MOST_NODES = 4e-4, 2000, 2**17
# Arrays of n x n that the dense evaluation holds at once.
_DENSE_ARRAYS = 6
_MIB = 2**20


@dataclass(frozen=True)
class Evaluation:
    """Which evaluator, how exact, on how many threads, in how much memory.

    - ``evaluator``: ``auto`` lets ``kdrbench.evaluation.cost_model`` choose; the others are named there;
    - ``threads`` work side by side, each on one core; results differ by rounding only;
    - ``memory_mib`` bounds what is held beyond the data; ``auto`` keeps to it, and ``None`` is no bound;
    - ``engine`` computes sums over chunks of samples (:class:`kdrbench.samples.Engine`); ``None``: these threads;
    - ``approximates``: panels are in single precision, as an exact problem or a fit of many samples decides. So
      they are with a ``tolerance`` of 1e-5 or more where no factor or basis has it; exact ones, alone, would lose steps
      to rounding;
    - ``compiled``: panels take exponentials and roots in machine code, by numba (the extra ``compiled``). Results
      differ by rounding. Without AVX-512 a gradient with a Gaussian takes .6 of the time, in float32 .7;
    - ``scheduler`` is the address of a Dask scheduler, such as ``tcp://host:8786``, whose workers are the engine.

    Raises ``InputError`` for values that are not allowed. Without numba ``compiled`` panels cannot be made
    (``MissingPackageError``).
    """

    evaluator: Annotated[str, OneOf(EVALUATORS)] = "auto"
    tolerance: Annotated[float, Interval(0.0, 1.0, open_above=True)] = 0.0
    threads: Annotated[int, COUNT] = 1
    memory_mib: Annotated[float | None, optional(POSITIVE)] = None
    engine: Engine | None = None
    scheduler: str | None = None
    approximates: bool = False
    compiled: Annotated[bool, FLAG] = False

    def __post_init__(self) -> None:
        check_parameters(self)
        if self.scheduler is None:
            return
        from kdrbench.samples.dask_engine import PATIENCE_S, checked_address, dask_engine

        workers = dask_engine(checked_address(self.scheduler), PATIENCE_S)
        if self.engine not in (None, workers):
            raise InputError(f"engine and scheduler are both given, {self.engine!r} and {self.scheduler!r}; give one")
        object.__setattr__(self, "engine", workers)

    @property
    def is_exact(self) -> bool:
        """Whether it has no tolerance and no single precision."""
        return self.tolerance == 0.0 and not self.approximates

    @property
    def exact(self) -> Evaluation:
        """The same on as many threads and in as much memory, without approximations and without a named evaluator."""
        return replace(self, evaluator="auto", tolerance=0.0, approximates=False)


@dataclass(frozen=True)
class Plan:
    """How calls with q columns are evaluated, and why."""

    evaluator: str
    reason: str
    single_precision: bool = False

    def __str__(self) -> str:
        """Return it as a sentence."""
        return f"{self.evaluator}{' in single precision' if self.single_precision else ''}: {self.reason}"


def plan(objective: TraceObjective, n_components: int, evaluation: Evaluation | None = None) -> Plan:
    """Return how projections to ``n_components`` are evaluated."""
    chosen = _plan(objective, n_components, evaluation or Evaluation())
    if not is_device_array(objective.features):
        return chosen
    return replace(chosen, reason=f"{chosen.reason}, on {Device.of(objective.features)}")


def _plan(objective: TraceObjective, n_components: int, asked: Evaluation) -> Plan:
    if objective.is_streamed or asked.engine is not None:
        evaluator = evaluator_of_streamed(objective, asked.evaluator)
        by = "" if asked.scheduler is None else f" by the workers of {asked.scheduler}"
        return Plan(evaluator, f"{objective.features.shape[0]} streamed samples{by}")
    kernel = objective.kernel
    if asked.evaluator != "auto":
        return Plan(asked.evaluator, "asked for", asked.tolerance >= SINGLE_PRECISION and asked.evaluator == "panels")
    n, few_groups = objective.features.shape[0], _has_few_groups(objective)
    in_numpy = not is_device_array(objective.features)
    if isinstance(kernel, Gaussian) and few_groups:
        few = asked.tolerance > 0 or n_components <= _PROVED_COMPONENTS
        if n >= (SUMS_SAMPLES if few else _FACTOR_SAMPLES):
            return Plan("class_sums", f"{n} samples of a Gaussian kernel")
        if in_numpy and asked.tolerance > 0 and n >= _APPROXIMATION_SAMPLES:
            return Plan("low_rank", f"{n} samples; a Gaussian to {asked.tolerance:g} of the trace of its matrix")
    fewest = GRID_SAMPLES if objective.gamma.codes is not None else SUMS_SAMPLES
    if in_numpy and few_groups and n >= fewest and n_components <= GRID_COMPONENTS and _suits_grid(kernel):
        return Plan("grid", f"{n} samples; the kernel is a function of differences")
    return _exact_plan(objective, n_components, asked)


def _suits_grid(kernel: Kernel | Combination) -> bool:
    """Return whether a grid is the quickest way in few components: Gaussians and squared distances have others."""
    return is_of_differences(kernel) and not isinstance(kernel, Gaussian) and not has_constant_slope(kernel)


def _has_few_groups(objective: TraceObjective) -> bool:
    """Return whether sums over groups of samples are for this problem."""
    gamma = objective.gamma
    return gamma.codes is not None or len(gamma.weights) * _LARGEST_RANK <= objective.features.shape[0]


def _exact_plan(objective: TraceObjective, n_components: int, asked: Evaluation) -> Plan:
    """Return the plan among features, n x n arrays and panels."""
    on_device, kernel, gamma = is_device_array(objective.features), objective.kernel, objective.gamma
    (n, d), budget = objective.features.shape, np.inf if asked.memory_mib is None else asked.memory_mib
    # Panels compute Gamma from its factors at each call: not worth it where these are nearly as large.
    small = not on_device and (n <= _DENSE_SAMPLES or len(gamma.weights) > n // 4)
    dense = small and _DENSE_ARRAYS * 8 * n**2 / _MIB <= budget
    general = Plan("dense" if dense else "panels", f"{n} samples", asked.approximates and not dense)
    polynomial = as_polynomial(kernel)
    if polynomial is None and not isinstance(kernel, Squared):
        return replace(general, reason=f"{general.reason}; the kernel has no exact factors")
    n_maps = 1 if polynomial is None else comb(n_components + polynomial.degree - 1, n_components)
    groups = len(gamma.weights) if gamma.codes is None else len(gamma.table)
    held = n * (2 * n_components + 2) + d**2 + groups * n_maps * d
    mib = 8 * (held * asked.threads + n * n_components) / _MIB
    if mib > budget:
        return replace(general, reason=f"sums over {n_maps} features would take {mib:.0f} MiB")
    # Multiplications of a surrogate from features, with one product over pairs of classes, and from all pairs.
    sums = (n if gamma.codes is not None else n * groups) + groups**2
    factored = n_maps * (sums * (d + n_components) + n * PER_VALUE) + n * d**2 + _FACTORED_OVERHEAD
    saved = n**2 / 2 * (d + 2 * n_components + 2 * PER_VALUE) / factored
    if saved > 1:
        reason = f"{n_maps} features stand for {n} samples: {saved:.1f} times less work"
        return Plan("factored", reason)
    return replace(general, reason=f"{n_maps} features for {n} samples would be {1 / saved:.1f} times the work")


def largest_rank(n_samples: int, memory_mib: float | None = None) -> int:
    """Return the rank up to which a factor of a kernel matrix is worth making, and fits in the memory."""
    worth = max(_LARGEST_RANK, int(min(_LARGEST_SHARE * n_samples, (_PAIRS_TO_FACTOR * n_samples) ** 0.5)))
    if memory_mib is None:
        return worth
    # While it is made it is held twice.
    return max(1, min(worth, int(memory_mib * _MIB / (16 * n_samples))))


def largest_grid(gamma: FactoredGamma) -> int:
    """Return the number of nodes up to which a convolution for each group is quicker than a pass over all pairs."""
    groups = len(gamma.weights) if gamma.codes is None else len(gamma.table)
    return min(MOST_NODES, max(_FEWEST_NODES, int(_NODES_TO_PAIRS * gamma.n_samples**2 / groups)))


def accuracy(chosen: Plan, asked: Evaluation) -> float:
    """Return the relative stationarity to which oracles of a plan are worth trusting; 0 where they are exact."""
    if chosen.evaluator == "grid":
        return GRID_ACCURACY
    if chosen.evaluator in ("low_rank", "class_sums"):
        return _FACTOR_ACCURACY * asked.tolerance or PROVED
    return _SINGLE_ACCURACY if chosen.single_precision else 0.0


def nearby(objective: TraceObjective, chosen: Plan, asked: Evaluation) -> Evaluation | None:
    """Return how a cheaper problem near that of a plan is evaluated, or ``None`` where the plan's is cheap."""
    n_samples = objective.gamma.n_samples
    is_cheap = chosen.single_precision or chosen.evaluator not in ("panels", "low_rank", "class_sums")
    if is_cheap or n_samples < _APPROXIMATION_SAMPLES:
        return None
    if chosen.evaluator == "low_rank":
        rough = _ROUGHER * asked.tolerance
        return replace(asked, evaluator="low_rank", tolerance=rough) if rough < _ROUGHEST else None
    if chosen.evaluator == "panels":
        sums = isinstance(objective.kernel, Gaussian) and n_samples >= SUMS_SAMPLES
        rough = _BEFORE_PANELS if sums else _APPROXIMATION_TOLERANCE
        return replace(asked, tolerance=rough, approximates=True)
    rougher = [tolerance for tolerance in _SUMS_TOLERANCES if tolerance > _ROUGHER * asked.tolerance]
    return replace(asked, evaluator="class_sums", tolerance=rougher[0]) if rougher else None


def as_polynomial(kernel: object) -> Polynomial | None:
    """Return the polynomial that a kernel is, a linear one being of degree 1; ``None`` for others."""
    if isinstance(kernel, Linear):
        return Polynomial(degree=1, offset=0.0, scale=1.0)
    return kernel if isinstance(kernel, Polynomial) else None


def too_narrow(features: object) -> str:
    """Return what is wrong, and what to do, where a bandwidth needs pairs of samples and these are out of reach."""
    sparse = isinstance(features, SparseSamples)
    return (
        "no basis of few functions has the error that is asked for on samples that are "
        f"{'sparse' if sparse else 'streamed'}: the bandwidth is too narrow for this number of components; take a "
        "larger sigma, fewer components, evaluation={'tolerance': 1e-3}, or give the samples as "
        f"{'a dense array' if sparse else 'an array, and no scheduler'}"
    )


def evaluator_of_streamed(objective: TraceObjective, asked: str = "auto") -> str:
    """Return the name of the evaluator for samples that are not in memory.

    Raises ``InputError`` for a kernel that needs pairs of samples, or where another evaluator is ``asked`` for.
    """
    kernel = objective.kernel
    if not isinstance(kernel, Gaussian | Linear | Squared | Polynomial):
        raise InputError(
            "samples that are streamed, or given to a scheduler, need a linear, squared, polynomial or Gaussian "
            f"kernel, which are sums over samples; got {kernel!r}: choose one of those, or give the samples as an "
            "array, and no scheduler"
        )
    evaluator = "class_sums" if isinstance(kernel, Gaussian) else "monomial_sums"
    if asked not in ("auto", evaluator):
        raise InputError(
            f"samples that are streamed, or given to a scheduler, are evaluated by {evaluator!r} for this kernel, not "
            f"by {asked!r}; choose 'auto', or give the samples as an array, and no scheduler"
        )
    return evaluator
