"""Masked parity: what takes two rounds of questions to learn, and cannot be learned in one.

>>> import numpy as np
>>> generator = np.random.default_rng(0)
>>> bits, index = generator.integers(0, 2, (3000, 8)), generator.integers(0, 8, 3000)
>>> mask = generator.integers(0, 2, 3000)
>>> X = masked_rows(bits, index, mask)
>>> parity = bits[:, 1] ^ bits[:, 5]
>>> y = np.where(mask, np.isin(index, [1, 5]), 1 - parity)
>>> learner = MaskedParityClassifier(epsilon=1.0, classes=[0, 1], binarize=None, random_state=0).fit(X, y)
>>> learner.parity_.tolist(), learner.intercept_, learner.rounds_
([0, 1, 0, 0, 0, 1, 0, 0], 1, 2)
>>> learner.concept_
if x11: 1 if x8..x10 is 1 or 5, else 0; otherwise: 1 if x1 + x5 is even, else 0
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard
from scipy.sparse import issparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import check_choice, check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.concepts.base import ChosenConcept
from dplearn.concepts.masked_parities import MaskedParity, index_of, masked_layout, masked_rows
from dplearn.concepts.parities import Parity
from dplearn.core.gf2 import BitMatrix
from dplearn.domains import Bits, Product
from dplearn.estimator import RuleClassifier
from dplearn.estimator.stages import Params, Public, Table
from dplearn.learners.masked_parity_sizes import (
    MaskedParitySizes,
    masked_parity_sample_size,
    masked_parity_sizes,
)
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import Plan, hidden
from dplearn.queries import HistogramQuery, MeanQuery, Oracle, Records, StatisticalQuery
from dplearn.queries.bounds import QUERY_MODELS
from dplearn.queries.factories import oracle_for
from dplearn.records.bit_rows import packed_rows
from dplearn.records.reading import (
    TABLE,
    as_product,
    check_classes,
    check_two_labels,
    labels_assumed,
    read_features,
    read_labels,
    read_rows,
)

__all__ = [
    "Asking",
    "MaskedParityClassifier",
    "MaskedParityPlan",
    "MaskedRecords",
    "learn_masked_parity",
    "masked_rows",
]

_WAYS = ("cells", "hadamard")

Signed = tuple[NDArray[np.intp], NDArray[np.int64]]  # which cell each record is in, and its sign


class MaskedParityClassifier(RuleClassifier):
    """Learn a parity of which half of the records show one bit each, and the other half sums only.

    A record has d bits x, an index i and a mask. With mask, its label is bit i of a hidden r; without, it is
    the sum of the bits of x that r has, modulo 2, or always the complement of that. Two rounds of
    averages learn it: one finds r, the next, which needs r, whether there is a complement. One round finds r
    and no more, whoever asks: it separates what can be learned with and without interaction.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit; positive. A float stands for its shortest decimal.
    trust_model : {"central", "local"}, default="central"
        "central": whoever fits sees the records and answers about all of them with noise. "local": each
        record answers one question, by a report that it randomises itself.
    interactive : bool, default=True
        Whether there is a second round. Without it, records without mask get the label that most of them
        have, which is right for half of them.
    beta : float, default=0.05
        Probability of failure that is allowed, in (0, 1); for `plan` and a warning.
    binarize : float or None, default=0.0
        Numbers above it count as 1, others as 0. None: values must be 0 or 1 already.
    classes : sequence, optional
        The two labels that can occur. None takes those in `y`, and the guarantee then says that it assumes
        the set of labels public.
    ledger : PrivacyLedger, optional
        The ledger that each fit is charged to, fits of clones, searches and worker processes included.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the fit reproducible, for tests only; the
        guarantee states this.

    Attributes
    ----------
    parity_ : ndarray of uint8 of shape (d,)
        Released. 1 for each bit of x that is added: the hidden r.
    intercept_ : int
        Released. 1 where records without mask get the complement; with `interactive=False` the label code
        that all of them get.
    concept_ : ChosenConcept
        Released. The rule, which it prints as.
    rounds_ : int
        Public. How many rounds of questions there were.
    classes_ : ndarray of shape (2,)
        Public. The labels, sorted; declared, or assumed to be public.
    guarantee_ : ApproxDP
        Public. The guarantee of the fit, with its assumptions.
    domain_ : Product
        Public. What counts as 1 in each column.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    dplearn.learners.masked_parity.masked_rows : Makes a table of this form from bits, an index and a mask.
    dplearn.theory.masked_parity_sample_size : How many records it takes.

    Notes
    -----
    All columns are bits: first x, then the index in binary, its lowest bit first, last the mask. Of so many
    columns as many are bits of x as can be, so that ceil(log2(d)) are left for the index.

    **Privacy.** (epsilon, 0)-differential privacy for one replaced record; the number of records is public.
    With "local" even towards whoever collects the reports.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** `plan(n_samples, n_features=...)` bounds the probability that the rule is not the one that
    labels all records, where masks are fair coins and indices uniform; x may have any distribution.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 5.3.
    """

    parity_: NDArray[np.uint8]
    intercept_: int
    concept_: ChosenConcept

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        trust_model: str = "central",
        interactive: bool = True,
        beta: float = 0.05,
        binarize: float | None = 0.0,
        classes: Sequence[Any] | None = None,
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.epsilon = epsilon
        self.trust_model = trust_model
        self.interactive = interactive
        self.beta = beta
        self.binarize = binarize
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, n_samples: int, *, n_features: int) -> "MaskedParityPlan":
        """Return what a fit would guarantee and how accurate it would be, without any data.

        Parameters
        ----------
        n_samples, n_features : int
            Numbers of records and of columns: bits, index and mask.
        """
        params = self._params(self.random_state is not None)
        n_features = check_count("n_features", n_features, low=1)
        return self._plan(params, Public(check_count("n_samples", n_samples, low=1), n_features, 2))

    def _params(self, reproducible: bool) -> Params:
        if self.classes is not None:
            check_two_labels(check_classes(self.classes), "a masked parity")
        if not isinstance(self.interactive, (bool, np.bool_)):
            raise TypeError(f"interactive must be True or False, got {self.interactive!r}")
        epsilon = check_number("epsilon", self.epsilon, above=0)
        return Params(
            ApproxDP(epsilon, reproducible=reproducible),
            trust_model=check_choice("trust_model", self.trust_model, QUERY_MODELS),
            interactive=bool(self.interactive),
            beta=check_number("beta", self.beta, above=0, below=1),
            bits=Bits(self.binarize),
            classes=self.classes,
            random_state=self.random_state,
        )

    def _read(self, X: Any, y: Any, params: Params) -> Table:
        stream = self._public_stream(params)
        X = self._rows(X, reset=True)
        n_bits, _ = masked_layout(X.shape[1])
        classes, codes = read_labels(y, X.shape[0], params.classes)
        check_two_labels(classes, "a masked parity")
        names = getattr(self, "feature_names_in_", None)
        public = Public(X.shape[0], X.shape[1], names=names, classes=classes, stream=stream)
        matrix = packed_rows(X, as_product(params.bits, X.shape[1], names))
        return Table(public, MaskedRecords.of(matrix, n_bits, codes))

    def _plan(self, params: Params, public: Public) -> "MaskedParityPlan":
        n_bits, _ = masked_layout(public.n_features)
        asked = {
            "epsilon": params.cost.epsilon,
            "trust_model": params.trust_model,
            "interactive": params.interactive,
        }
        sizes = masked_parity_sizes(public.n_samples, n_bits=n_bits, **asked)
        domain = as_product(params.bits, public.n_features, public.names)
        assumes = (*TABLE, *domain.assumes, labels_assumed(params.classes))
        return MaskedParityPlan(
            guarantee=replace(params.cost, assumes=assumes),
            n_samples=public.n_samples,
            n_bits=n_bits,
            n_rounds=1 + params.interactive,
            first_share=float(sizes.first_share),
            failure=sizes.failure,
            n_needed=masked_parity_sample_size(n_bits, beta=params.beta, **asked),
            alpha=0.0 if params.interactive else 0.25,
            beta=float(params.beta),
            domain=domain,
            params=params,
            public=public,
            sizes=sizes,
        )

    def _release(
        self, summary: "MaskedRecords", plan: "MaskedParityPlan", dice: Dice
    ) -> tuple[MaskedParity, int]:
        # One replaced record replaces one row of bits, and one label.
        kind = "local" if plan.params.trust_model == "local" else "laplace"
        oracle = oracle_for(kind, summary, privacy=plan.guarantee, dice=dice, stream=plan.public.stream)
        found = learn_masked_parity(oracle, plan.n_bits, *_askings(plan.sizes), plan.domain)
        return found, len(oracle.rounds)

    def _publish(self, outcome: tuple[MaskedParity, int], plan: "MaskedParityPlan") -> None:
        chosen, self.rounds_ = outcome
        self.classes_ = plan.public.classes
        self.domain_ = plan.domain
        self.guarantee_ = plan.guarantee
        self.parity_ = np.zeros(chosen.n_bits, dtype=np.uint8)
        self.parity_[list(chosen.shown)] = 1
        self.intercept_ = chosen.parity.intercept
        self.concept_ = ChosenConcept(chosen, tuple(self.domain_.names), tuple(self.classes_.tolist()))

    def _codes(self, X: Any) -> NDArray[np.intp]:
        check_is_fitted(self)
        rows = packed_rows(self._rows(X, reset=False), self.domain_, nearest=True)
        return self.concept_.predict(list(rows.unpack().T))

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Return X as `packed_rows` takes it."""
        if issparse(X):
            return read_rows(self, X, reset=reset, sparse=True)
        return read_features(self, X, domain=Bits(self.binarize), reset=reset)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True)
class MaskedParityPlan(Plan):
    """What a fit of `MaskedParityClassifier` would give.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit.
    n_samples : int
        Number of records.
    n_bits : int
        How many of the columns are bits of x.
    n_rounds : int
        How many rounds of questions there would be.
    first_share : float
        What part of epsilon, or of the records, the first would take.
    failure : float
        A bound on the probability that the error exceeds `alpha`, where a masked parity labels all records,
        masks are fair coins and indices uniform; with one round, bits fair coins besides.
    n_needed : int
        From how many records on `failure` is at most `beta`.
    alpha : float
        The error that is guaranteed: 0, or 1/4 with one round.
    beta : float
        As the estimator has it.
    """

    guarantee: ApproxDP
    n_samples: int
    n_bits: int
    n_rounds: int
    first_share: float
    failure: float
    n_needed: int
    alpha: float
    beta: float
    domain: Any = hidden()
    params: Any = hidden()
    public: Any = hidden()
    sizes: Any = hidden()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warn if the public numbers guarantee less than is asked for."""
        if self.failure <= self.params.beta:
            return ()
        return (
            f"n_samples is {self.n_samples}: beta={self.beta:g} with trust_model={self.params.trust_model!r}"
            f" takes {self.n_needed} records of {self.n_bits} bits; plan(n_samples, n_features=...) tells"
            " more, without any data",
        )


def _askings(sizes: MaskedParitySizes) -> "tuple[Asking, Asking | None]":
    """Return how each round asks; the last takes all that is left."""
    if sizes.second_way is None:
        return Asking(sizes.first_way), None
    return Asking(sizes.first_way, {"share": sizes.first_share}), Asking(sizes.second_way)


@dataclass(frozen=True, repr=False)  # a traceback may show it
class MaskedRecords(Records):
    """Records of a masked parity, as queries take them.

    Attributes
    ----------
    matrix : BitMatrix of shape (n, d)
        Private. The bits.
    index : ndarray of intp of shape (n,)
        Private. From 0 to d - 1, or d where it means nothing.
    mask : ndarray of uint8 of shape (n,)
        Private.
    labels : ndarray of int of shape (n,)
        Private. Label codes, 0 or 1.
    """

    matrix: BitMatrix
    index: NDArray[np.intp]
    mask: NDArray[np.uint8]
    labels: NDArray[Any]

    @classmethod
    def of(cls, matrix: BitMatrix, n_bits: int, labels: NDArray[Any]) -> Self:
        """Return the records of a table: bits, index and mask; see `masked_rows`."""
        columns = list(matrix.unpack().T)
        bits = BitMatrix(matrix.words, n_bits)  # the first columns, of the same words
        return cls(bits, index_of(columns[n_bits:-1], n_bits, len(matrix)), columns[-1], labels)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, places: NDArray[np.int64]) -> Self:
        return type(self)(self.matrix[places], self.index[places], self.mask[places], self.labels[places])


@dataclass(frozen=True)
class Asking:
    """How a round is asked.

    Attributes
    ----------
    way : {"cells", "hadamard"}
        "cells": one query, which cell and sign a record has. "hadamard": as many as there are cells, or up to
        the next power of two, each of all cells with signs of its own.
    terms : mapping
        What `Oracle.ask` is told besides: `share`, or `tolerance` and `beta`.
    """

    way: str
    terms: Mapping[str, Any] = field(default_factory=dict)


def learn_masked_parity(
    oracle: Oracle, n_bits: int, first: Asking, second: Asking | None, domain: Product | None = None
) -> MaskedParity:
    """Learn a masked parity from any oracle about `MaskedRecords`.

    Parameters
    ----------
    oracle : Oracle
        What answers.
    n_bits : int
        How many bits d.
    first : Asking
        How to ask for the bits of the parity, which records with mask show.
    second : Asking or None
        How to ask, with the parity in hand, whether its complement labels the records without mask. None
        asks in the first round which label most of these have, and gives it to all of them.
    domain : Product of Bits, optional
        Of the columns; the concept gets it.

    Returns
    -------
    MaskedParity

    Notes
    -----
    **Accuracy.** Where masks are fair coins and indices uniform, right if no query in "cells" is off by
    1 / (4 d) or more in the first round and 1/4 in the second, with "hadamard" twice that.

    **Source.** Kasiviswanathan et al. (2011), Section 5.3.1. There each query is about one cell and asks for
    a share above 1 / (4 d); here signs are asked for, so that no threshold depends on how frequent a cell is.

    Examples
    --------
    >>> from dplearn.core.gf2 import pack
    >>> from dplearn.queries import PopulationOracle
    >>> points = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=np.uint8)  # two bits, an index, a mask
    >>> labels = np.where(points[:, 3], points[:, 2] == 1, 1 - points[:, 1]).astype(np.uint8)  # not x1
    >>> oracle = PopulationOracle(MaskedRecords.of(pack(points), 2, labels))
    >>> learn_masked_parity(oracle, 2, Asking("cells"), Asking("hadamard"))
    MaskedParity(shown=(1,), parity=Parity(features=(1,), intercept=1), n_bits=2)
    >>> oracle.adaptive
    True
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
    """With mask: the index's cell, and the label."""
    return np.where(records.mask == 1, records.index, n_bits), _sign(records.labels)


def _shown_or_plain(n_bits: int, records: MaskedRecords) -> Signed:
    """Besides, a last cell for all without mask."""
    with_mask = np.where(records.index < n_bits, records.index, n_bits + 1)
    return np.where(records.mask == 1, with_mask, n_bits), _sign(records.labels)


def _agreeing(parity: NDArray[np.uint8], records: MaskedRecords) -> Signed:
    """Without mask: one cell, and whether the label is the parity's."""
    odd = records.matrix.dot(parity)
    return records.mask.astype(np.intp), _sign(odd == records.labels)


def _sign(bits: NDArray[Any]) -> NDArray[np.int64]:
    return 2 * bits.astype(np.int64) - 1


def _positive(signs: NDArray[np.float64]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(signs > 0).tolist())


def _signs(
    oracle: Oracle, cells: Callable[[MaskedRecords], Signed], size: int, asking: Asking
) -> NDArray[np.float64]:
    """Return, for each cell, the estimated share of records in it with sign + less that with sign -."""
    if check_choice("way", asking.way, _WAYS) == "cells":
        query = HistogramQuery(partial(_category, cells, size), categories=2 * size + 1)
        means = oracle.ask(query, **asking.terms)[0].means
        return np.asarray(means[1 : 2 * size : 2] - means[0 : 2 * size : 2])
    turn = hadamard(1 << (size - 1).bit_length(), dtype=np.int8)
    queries: list[StatisticalQuery] = [
        MeanQuery(partial(_sign_at, cells, row[:size]), low=-1, high=1) for row in turn
    ]
    answers = np.array([answer.mean for answer in oracle.ask(queries, **asking.terms)])
    # A symmetric matrix whose square is as many times the identity as it has rows.
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
