"""Masked parity: a concept learned by two rounds of statistical queries, but not by one round.

Each round estimates signs. Each record is in at most one of m cells, each of a share 1 / (2 m) of the
records, and has the sign of its cell. Queries are one histogram of cell and sign with 2 m + 1 categories
("cells"), or m rows of a Hadamard matrix ("hadamard"), of which each record answers one in the local model.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import Unspent, documented_by
from dplearn._validation import check_bool, check_choice, check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.concepts.parities import MaskedParity, Parity, index_of, masked_layout
from dplearn.domains import Bits, Product
from dplearn.estimator import RuleClassifier
from dplearn.estimator.recipe import FitFacts, FitRecipe
from dplearn.fit import TABLE
from dplearn.kernels import BitMatrix, decay_rate, decay_ratio, first, least, lowest
from dplearn.learners.limits import SIZE_NOTES
from dplearn.mechanisms.randomized_response import truth_probability
from dplearn.privacy import PrivacyLedger
from dplearn.privacy.plan import StatedPlan
from dplearn.queries import HistogramQuery, MeanQuery, Oracle, Records, StatisticalQuery
from dplearn.queries.noise import QUERY_MODELS
from dplearn.queries.oracle import oracle_for
from dplearn.table.encodings import packed_rows, read_bits
from dplearn.table.features import as_product
from dplearn.table.targets import check_two_labels, labels_assumed, read_labels

_WAYS = ("cells", "hadamard")

Signed = tuple[NDArray[np.intp], NDArray[np.int64]]  # the cell and the sign of each record


@documented_by(Unspent)
@dataclass(eq=False, repr=False, kw_only=True)
class MaskedParityClassifier(RuleClassifier):
    """Learn a masked parity by one or two rounds of statistical queries.

    Drop-in: any number of predictions costs no privacy. A record has d bits x, an index i and a mask. If the
    mask is 1, the label is bit i of a hidden vector r; else the inner product of r and x modulo 2, or for all
    these records its complement. Two rounds of statistical queries learn the concept, and no single one finds
    the intercept: the class separates interactive from noninteractive learning.

    Parameters
    ----------
    trust_model : {"central", "local"}, default="central"
        "central": a trusted curator adds noise to sums over all records. "local": each record answers one
        query by a randomised report, so that no trusted curator is needed.
    interactive : bool, default=True
        Whether there is a second round. Without it, one label is predicted for all records with mask 0: an
        estimate of the more frequent one among them.
    beta : float, default=0.05
        Probability of failure that is allowed, in (0, 1); for `plan` and a warning.
    binarize : float or None, default=0.0
        Numbers above it become 1, others 0. None: all values must be 0 or 1.
    classes : sequence, optional
        The two labels that can occur, known without looking at the data. None: the labels that occur in `y`;
        the guarantee then assumes that the set of labels is public.

    Attributes
    ----------
    parity_ : ndarray of uint8 of shape (d,)
        Released. The estimate of r: 1 for each bit of x in the parity.
    intercept_ : int
        Released. 1 if the label at mask 0 is the complement of the parity, else 0; with `interactive=False`
        the label code predicted at mask 0.
    concept_ : ChosenConcept
        Released. The masked parity; its `repr` is the rule.
    rounds_ : int
        Public. The number of rounds of queries.
    classes_ : ndarray of shape (2,)
    guarantee_, domain_, feature_importances_, n_features_in_, feature_names_in_

    See Also
    --------
    dplearn.concepts.parities.masked_rows : A table of this form from bits, an index and a mask.
    dplearn.theory.masked_parity_sample_size : The number of records for a given probability of failure.

    Notes
    -----
    All columns are bits: first x, then the index in binary, lowest bit first, and last the mask. For a given
    number of columns, d is the greatest number that leaves ceil(log2(d)) columns for the index.

    **Privacy.** (epsilon, 0)-differential privacy for one replaced record; the number of records is public.
    With "local" also towards the collector of the reports.

    **Accuracy.** If a masked parity labels all records, masks are fair coins and indices are uniform, the
    probability that another rule is released is at most `plan(n_samples, n_features=...).failure`; x may have
    any distribution.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn import MaskedParityClassifier
    >>> from dplearn.concepts.parities import masked_rows
    >>> generator = np.random.default_rng(0)
    >>> bits, index = generator.integers(0, 2, (3000, 8)), generator.integers(0, 8, 3000)
    >>> mask = generator.integers(0, 2, 3000)
    >>> X = masked_rows(bits, index, mask)
    >>> parity = bits[:, 1] ^ bits[:, 5]
    >>> y = np.where(mask, np.isin(index, [1, 5]), 1 - parity)
    >>> learner = MaskedParityClassifier(epsilon=1.0, classes=[0, 1], binarize=None, random_state=0).fit(X, y)
    >>> learner.concept_
    if x11: 1 if x8..x10 is 1 or 5, else 0; otherwise: 1 if x1 + x5 is even, else 0
    """

    epsilon: float = 1.0
    delta: float = 0.0
    trust_model: str = "central"
    interactive: bool = True
    beta: float = 0.05
    binarize: float | None = 0.0
    classes: Sequence[Any] | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    def plan(self, n_samples: int, *, n_features: int) -> StatedPlan:
        """Return the plan of a fit: its guarantee and its accuracy. No data is read.

        Parameters
        ----------
        n_samples, n_features : int
            The numbers of records and of columns, which are bits, index and mask.

        Returns
        -------
        StatedPlan
            Of `guarantee`, `n_samples` and the parameter `beta`, and of

            - `n_bits`, the number of columns that are bits of x, and `n_rounds`, the number of rounds of
              queries;
            - `first_share`, the share of epsilon ("central") or of the records ("local") for the first round;
            - `failure`, a bound on the probability that the error exceeds `alpha`, if a masked parity labels
              all records, masks are fair coins and indices are uniform; with one round, if also the bits are
              fair coins;
            - `n_needed`, the least number of records from which on `failure` is at most `beta`;
            - `alpha`, the error that `failure` refers to: 0, or 1/4 with one round.
        """
        fit = self._recipe(self.random_state is not None)
        n_features = check_count("n_features", n_features, low=1)
        return fit.planned(FitFacts(check_count("n_samples", n_samples, low=1), n_features, 2))

    def _recipe(self, reproducible: bool) -> "MaskedParityFit":
        return MaskedParityFit(
            self,
            self._cost(reproducible),
            trust_model=check_choice("trust_model", self.trust_model, QUERY_MODELS),
            interactive=check_bool("interactive", self.interactive),
            beta=check_number("beta", self.beta, above=0, below=1),
            bits=Bits(self.binarize),
        )

    def _publish(self, outcome: tuple[MaskedParity, int], plan: StatedPlan) -> None:
        chosen, self.rounds_ = outcome
        self._publish_rule(chosen, plan)
        self.parity_ = np.zeros(chosen.n_bits, dtype=np.uint8)
        self.parity_[list(chosen.shown)] = 1
        self.intercept_ = chosen.parity.intercept

    def _codes(self, X: Any) -> NDArray[np.intp]:
        check_is_fitted(self)
        rows = packed_rows(read_bits(self, X, Bits(self.binarize), reset=False), self.domain_, nearest=True)
        return self.concept_.predict(list(rows.unpack().T))

    _two_labels = "a masked parity"
    spends_delta = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class MaskedParityFit(FitRecipe):
    """The fit of `MaskedParityClassifier`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        stream = self.stream()
        X = read_bits(reader, X, self.bits, reset=True)
        n_bits, _ = masked_layout(X.shape[1])
        classes, codes = read_labels(y, X.shape[0], self.classes)
        check_two_labels(classes, self.kind._two_labels)
        public = FitFacts.of_rows(X, reader, classes=classes, stream=stream)
        matrix = packed_rows(X, as_product(self.bits, X.shape[1], public.names))
        return public, MaskedRecords.of(matrix, n_bits, codes)

    def plan(self, facts: FitFacts) -> StatedPlan:
        n_bits, _ = masked_layout(facts.n_features)
        asked = {
            "epsilon": self.cost.epsilon,
            "trust_model": self.trust_model,
            "interactive": self.interactive,
        }
        sizes = masked_parity_sizes(facts.n_samples, n_bits=n_bits, **asked)
        domain = as_product(self.bits, facts.n_features, facts.names)
        assumes = (*TABLE, *domain.assumes, labels_assumed(self.classes))
        n, needed = facts.n_samples, masked_parity_sample_size(n_bits, beta=self.beta, **asked)
        few = (
            f"n_samples is {n}: beta={float(self.beta):g} with trust_model={self.trust_model!r} requires"
            f" {needed} records of {n_bits} bits; plan(n_samples, n_features=...) reports"
            " `failure` without data"
        )
        return StatedPlan(
            replace(self.cost, assumes=assumes),
            title="MaskedParityPlan",
            states={
                "n_samples": n,
                "n_bits": n_bits,
                "n_rounds": 1 + self.interactive,
                "first_share": float(sizes.first_share),
                "failure": sizes.failure,
                "n_needed": needed,
                "alpha": 0.0 if self.interactive else 0.25,
                "beta": float(self.beta),
            },
            keeps={"domain": domain, "sizes": sizes},
            notes=SIZE_NOTES,
            warns=(few,) if sizes.failure > self.beta else (),
            public=facts,
        )

    def run(self, summary: "MaskedRecords", plan: StatedPlan, dice: Dice) -> tuple[MaskedParity, int]:
        # One replaced record replaces one row of bits and one label.
        kind = "local" if self.trust_model == "local" else "laplace"
        oracle = oracle_for(kind, summary, privacy=plan.guarantee, dice=dice, stream=plan.public.stream)
        found = learn_masked_parity(oracle, plan.n_bits, *_askings(plan.sizes), plan.domain)
        return found, len(oracle.rounds)


def _askings(sizes: "MaskedParitySizes") -> "tuple[Asking, Asking | None]":
    """Return the queries of each round; the last round spends all of the remaining budget."""
    if sizes.second_way is None:
        return Asking(sizes.first_way), None
    return Asking(sizes.first_way, {"share": sizes.first_share}), Asking(sizes.second_way)


@dataclass(frozen=True, repr=False)  # a traceback may show it
class MaskedRecords(Records):
    """Decoded records of a masked parity, the argument of its queries."""

    matrix: BitMatrix
    index: NDArray[np.intp]
    mask: NDArray[np.uint8]
    labels: NDArray[Any]

    @classmethod
    def of(cls, matrix: BitMatrix, n_bits: int, labels: NDArray[Any]) -> Self:
        """Decode a table of bits, index and mask; see `masked_rows`."""
        columns = list(matrix.unpack().T)
        bits = BitMatrix(matrix.words, n_bits)  # the first columns, in the same words
        return cls(bits, index_of(columns[n_bits:-1], n_bits, len(matrix)), columns[-1], labels)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, places: NDArray[np.int64]) -> Self:
        return type(self)(self.matrix[places], self.index[places], self.mask[places], self.labels[places])


@dataclass(frozen=True)
class Asking:
    """The form of the queries of one round, "cells" or "hadamard", and the arguments of `Oracle.ask`."""

    way: str
    terms: Mapping[str, Any] = field(default_factory=dict)


def learn_masked_parity(
    oracle: Oracle, n_bits: int, first: Asking, second: Asking | None, domain: Product | None = None
) -> MaskedParity:
    """Learn a masked parity from any statistical-query oracle for `MaskedRecords`.

    **Accuracy.** If masks are fair coins and indices are uniform, the result is correct if the error of every
    answer with "cells" is below 1 / (4 d) in the first round and below 1/4 in the second; with "hadamard"
    below twice that.

    **Source.** Kasiviswanathan et al. (2011), Section 5.3.1, with the share of one cell a query; here signed
    sums, whose sign is the result.
    """
    if second is None:
        signs = _signs(oracle, partial(_shown_or_plain, n_bits), n_bits + 1, first)
        rule = Parity((), int(signs[-1] > 0))
        return MaskedParity(_positive(signs[:-1]), rule, n_bits, domain)
    shown = _positive(_signs(oracle, partial(_shown, n_bits), n_bits, first))
    parity = Parity(shown, 0, domain)
    agreeing = partial(_agreeing, parity.coefficients(n_bits))
    (agrees,) = _signs(oracle, agreeing, 1, second)
    return MaskedParity(shown, Parity(shown, int(agrees < 0), domain), n_bits, domain)


def _shown(n_bits: int, records: MaskedRecords) -> Signed:
    """Return for mask 1 the cell of the index, and the label as the sign."""
    return np.where(records.mask == 1, records.index, n_bits), _sign(records.labels)


def _shown_or_plain(n_bits: int, records: MaskedRecords) -> Signed:
    """Return the same, and for mask 0 one further cell."""
    with_mask = np.where(records.index < n_bits, records.index, n_bits + 1)
    return np.where(records.mask == 1, with_mask, n_bits), _sign(records.labels)


def _agreeing(parity: NDArray[np.uint8], records: MaskedRecords) -> Signed:
    """Return for mask 0 one cell, and the agreement of the label with the parity as the sign."""
    odd = records.matrix.dot(parity)
    return records.mask.astype(np.intp), _sign(odd == records.labels)


def _sign(bits: NDArray[Any]) -> NDArray[np.int64]:
    return 2 * bits.astype(np.int64) - 1


def _positive(signs: NDArray[np.float64]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(signs > 0).tolist())


def _signs(
    oracle: Oracle, cells: Callable[[MaskedRecords], Signed], size: int, asking: Asking
) -> NDArray[np.float64]:
    """Return for each cell the estimated share of its records with sign + minus that with sign -."""
    if check_choice("way", asking.way, _WAYS) == "cells":
        query = HistogramQuery(partial(_category, cells, size), categories=2 * size + 1)
        means = oracle.ask(query, **asking.terms)[0].means
        return np.asarray(means[1 : 2 * size : 2] - means[0 : 2 * size : 2])
    turn = hadamard(1 << (size - 1).bit_length(), dtype=np.int8)
    queries: list[StatisticalQuery] = [
        MeanQuery(partial(_sign_at, cells, row[:size]), low=-1, high=1) for row in turn
    ]
    answers = np.array([answer.mean for answer in oracle.ask(queries, **asking.terms)])
    # A Hadamard matrix of Sylvester's form: symmetric, and its square is n times the identity.
    return np.asarray(turn[:size] @ answers / len(turn))


def _category(
    cells: Callable[[MaskedRecords], Signed], size: int, records: MaskedRecords
) -> NDArray[np.int64]:
    cell, sign = cells(records)
    return np.where(cell < size, 2 * cell + (sign > 0), 2 * size)


def _sign_at(
    cells: Callable[[MaskedRecords], Signed], row: NDArray[np.int8], records: MaskedRecords
) -> NDArray[np.int64]:
    cell, sign = cells(records)
    return np.append(row, 0).astype(np.int64)[np.minimum(cell, len(row))] * sign


_LARGEST_TRANSFORM = 1 << 13
_SHARES = 64  # the number of shares of epsilon that are compared
_SLOPES = np.linspace(0, 1, 258)[1:-1]  # slopes of Chernoff's bound that are tried, as shares of the greatest


@dataclass(frozen=True)
class MaskedParitySizes:
    """The queries of a fit, and a bound on its probability of failure."""

    first_way: str  # of the queries: "cells" or "hadamard"
    second_way: str | None  # None: there is no second round
    first_share: Fraction  # of epsilon ("central") or of the records ("local")
    failure: float  # if masks are fair coins and indices are uniform; the bits may have any distribution


def masked_parity_sizes(
    n_samples: int, *, n_bits: int, epsilon: Any, trust_model: str, interactive: bool = True
) -> MaskedParitySizes:
    """Return the best queries for a masked parity with a given number of records.

    Without `interactive` there is one round, the intercept is not learned, and the round has one more cell.
    """
    n = check_count("n_samples", n_samples, low=1)
    if interactive and n < 2:
        raise ValueError(f"n_samples must be at least 2, for two rounds, got n_samples={n}")
    return _sizes(
        n,
        check_count("n_bits", n_bits, low=1),
        check_number("epsilon", epsilon, above=0),
        check_choice("trust_model", trust_model, QUERY_MODELS),
        bool(interactive),
    )


@lru_cache(maxsize=256)
def _sizes(n: int, d: int, epsilon: Fraction, trust_model: str, interactive: bool) -> MaskedParitySizes:
    local = trust_model == "local"
    first_way = _way(d + (not interactive), d, epsilon, local, n - interactive)
    if not interactive:
        cells = _n_hadamard_queries(d + 1) if first_way == "hadamard" else 1
        used = n // cells * cells if local else n
        failure = signs_failure(
            used, size=d + 1, wanted=d, epsilon=epsilon, trust_model=trust_model, way=first_way
        )
        return MaskedParitySizes(first_way, None, Fraction(1), float(failure[0]))
    second_way = _way(1, 1, epsilon, local, 1)
    share, failure_of_both = (_records_shared if local else _epsilon_shared)(
        n, d, epsilon, first_way, second_way
    )
    return MaskedParitySizes(first_way, second_way, share, failure_of_both)


def masked_parity_sample_size(
    n_bits: int, *, epsilon: Any, beta: Any, trust_model: str, interactive: bool = True
) -> int:
    """Return the least number of records from which on the probability of failure is at most beta.

    Parameters
    ----------
    n_bits : int
        The number of bits of the parity, d.
    trust_model : {"central", "local"}
        As for `masked_parity_sizes`.
    interactive : bool, default=True
        As for `masked_parity_sizes`; without a second round only r is learned.

    Returns
    -------
    int
        Of order d ln(d / beta) / epsilon centrally and d**2 ln(d / beta) / epsilon**2 locally, for a small
        epsilon.

    Notes
    -----
    **Accuracy.** For masks that are fair coins, and uniform indices; the bits may have any distribution.

    **Source.** Kasiviswanathan et al. (2011), Proposition 5.18 with Theorem 5.7, which requires order d**3
    ln(d / beta) / epsilon**2 locally, as each query is about one cell.

    Examples
    --------
    >>> from dplearn.theory import masked_parity_sample_size
    >>> masked_parity_sample_size(16, epsilon=1, beta=0.05, trust_model="local")
    55652
    >>> masked_parity_sample_size(16, epsilon=1, beta=0.05, trust_model="central")
    818
    """
    return _least(
        check_count("n_bits", n_bits, low=1),
        check_number("epsilon", epsilon, above=0),
        check_number("beta", beta, above=0, below=1),
        check_choice("trust_model", trust_model, QUERY_MODELS),
        bool(interactive),
    )


@lru_cache(maxsize=256)
def _least(d: int, epsilon: Fraction, beta: Fraction, trust_model: str, interactive: bool) -> int:
    def learned(n: int) -> bool:
        sizes = masked_parity_sizes(
            n, n_bits=d, epsilon=epsilon, trust_model=trust_model, interactive=interactive
        )
        return sizes.failure <= beta

    return least(learned, 1 + interactive)


def signs_failure(
    n: Any, *, size: int, wanted: int, epsilon: Any, trust_model: str, way: str
) -> NDArray[np.float64]:
    """Return a bound on the probability that some estimated sign is wrong, for each number of records.

    **Accuracy.** Of `size` cells, the signs of `wanted` ones are estimated. Chernoff's bound: the
    contribution x of a record to the signed count is +1 with probability p+ and -1 with probability p-. The
    minimum over t of E exp(-t x) is 1 - (sqrt(p+) - sqrt(p-))**2, and the bound is its n-th power. With
    "central", p- is 0, the moment generating function of the noise is a factor, and t is minimised over a
    grid.
    """
    epsilon = check_number("epsilon", epsilon, above=0)
    logs = _logs(n, size=size, wanted=wanted, epsilon=epsilon, trust_model=trust_model, way=way)
    return np.asarray(np.exp(np.minimum(logs, 0)))


def _logs(
    n: Any, *, size: int, wanted: int, epsilon: Fraction, trust_model: str, way: str
) -> NDArray[np.float64]:
    """Return the logarithm of the bound of `signs_failure`, which is above 0 if the bound is trivial."""
    records = np.atleast_1d(np.asarray(n, dtype=np.float64))
    share = 1 / (2 * wanted)
    if trust_model == "local":
        logs = records * math.log1p(-_rate(size, share, epsilon, way))
    else:
        logs = _central_logs(records, share, epsilon, way)
    return np.asarray(math.log(wanted) + logs)


def _records_shared(
    n: int, d: int, epsilon: Fraction, first_way: str, second_way: str
) -> tuple[Fraction, float]:
    """Return the share of the records for the first round, and the bound on failure."""
    queries = _n_hadamard_queries(d) if first_way == "hadamard" else 1
    logs = partial(_logs, epsilon=epsilon, trust_model="local")

    def failure(each: NDArray[np.float64]) -> NDArray[np.float64]:
        one = logs(queries * each, size=d, wanted=d, way=first_way)
        other = logs(n - queries * each, size=1, wanted=1, way=second_way)
        return np.asarray(np.logaddexp(one, other))

    each = lowest(failure, 1, (n - 1) // queries)
    return Fraction(queries * each, n), math.exp(min(0.0, failure(np.array([float(each)]))[0]))


def _epsilon_shared(
    n: int, d: int, epsilon: Fraction, first_way: str, second_way: str
) -> tuple[Fraction, float]:
    """Return the share of epsilon for the first round, and the bound on failure."""
    logs = partial(_logs, n, trust_model="central")

    def both(k: int) -> tuple[float, float]:
        share = Fraction(k, _SHARES)
        one = logs(size=d, wanted=d, epsilon=share * epsilon, way=first_way)
        other = logs(size=1, wanted=1, epsilon=(1 - share) * epsilon, way=second_way)
        return float(one[0]), float(other[0])

    def failure(k: int) -> float:
        one, other = both(k)
        return float(np.logaddexp(one, other))

    # The first bound decreases in the share, the second increases: their sum is nearly least where they are
    # equal.
    meet = first(lambda k: both(k)[0] <= both(k)[1], _SHARES // 2, _SHARES - 1)
    best = min((meet, meet - 1), key=failure)
    return Fraction(best, _SHARES), math.exp(min(0.0, failure(best)))


def _way(size: int, wanted: int, epsilon: Fraction, local: bool, n: int) -> str:
    """Return the form of queries that requires fewer records, of the forms that n records allow."""
    if not local:
        return "hadamard" if size == 1 else "cells"
    if _n_hadamard_queries(size) > min(_LARGEST_TRANSFORM, n):
        return "cells"
    share = 1 / (2 * wanted)
    return max(("hadamard", "cells"), key=lambda way: _rate(size, share, epsilon, way))


def _rate(size: int, share: float, epsilon: Fraction, way: str) -> float:
    """Return (sqrt(p+) - sqrt(p-))**2 for one report."""
    if way == "hadamard":
        kept = float(2 * truth_probability(2, epsilon) - 1)
        likely, unlikely = (1 + share * kept) / 2, (1 - share * kept) / 2
    else:
        truth = truth_probability(2 * size + 1, epsilon)
        other = (1 - truth) / (2 * size)
        likely, unlikely = float(other) + share * float(truth - other), float(other)
    return (likely - unlikely) ** 2 / (math.sqrt(likely) + math.sqrt(unlikely)) ** 2


def _central_logs(
    records: NDArray[np.float64], share: float, epsilon: Fraction, way: str
) -> NDArray[np.float64]:
    """Return the logarithms of the bound for one cell. With "cells", noisy counts, clipped to [0, n], of the
    right and the other sign are compared: X + Z <= max(Z', 0) or Z' >= n is wrong; with "hadamard", X + Z <=
    0.
    """
    ratio = decay_ratio(epsilon / 2)
    steep = decay_rate(ratio)
    t, r = _SLOPES * steep, float(ratio)
    above = -np.expm1(t - steep)  # 1 - r exp(t), without cancellation
    noise = 2 * np.log(-np.expm1(-steep)) - np.log(above) - np.log(-np.expm1(-t - steep))
    if way == "cells":
        noise += np.log(r + -math.expm1(-steep) / above) - math.log1p(r)
    logs = (records[:, None] * np.log1p(share * np.expm1(-t)) + noise).min(axis=1)
    if way == "cells":
        logs = np.logaddexp(logs, -records * steep - math.log1p(r))
    return np.asarray(logs, dtype=np.float64)


def _n_hadamard_queries(size: int) -> int:
    """Return the least power of two that is at least `size`."""
    return 1 << max(size - 1, 0).bit_length()
