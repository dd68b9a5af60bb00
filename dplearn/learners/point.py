"""Private point functions: which one key, of however many that there may be, has the other label.

>>> rows = [["ward 7"]] * 80 + [[f"ward {i}"] for i in range(100, 220)]
>>> labels = ["outbreak"] * 80 + ["none"] * 120
>>> learner = PointClassifier(delta=1e-6, classes=["none", "outbreak"], random_state=0).fit(rows, labels)
>>> learner.concept_
'outbreak' if x0 == 'ward 7', else 'none'
>>> learner.predict([["ward 7"], ["ward 8"]]).tolist()
['outbreak', 'none']
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import AUTO, check_choice, check_count, check_count_or_auto, check_number
from dplearn.chance import public_seed
from dplearn.chance.dice import Dice
from dplearn.core.key_hash import KeyHash
from dplearn.core.points import bucket_errors, leading_key
from dplearn.domains import Hashed
from dplearn.domains.cells import frame_column, holds_times, is_frame
from dplearn.domains.keys import read_keys, spelled
from dplearn.estimator import RuleClassifier
from dplearn.estimator.intake import check_classes, read_features, read_labels
from dplearn.learners.point_terms import PointPlan, PointTerms, point_promise
from dplearn.mechanisms import permute_and_flip, release_if_stable
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.theory.bars import speaking_table
from dplearn.theory.points import (
    LARGEST_BITS,
    hashed_point_sizes,
)

__all__ = ["ChosenPoint", "PointClassifier"]

_METHODS = ("stability", "hashing")
_ANY_CELLS = Hashed()  # tells `read_features` to leave cells as they are
_SHOWN = 60  # characters of a key
_NAMES = 4  # columns


@dataclass(frozen=True, repr=False)
class ChosenPoint:
    """A point function; prints as its rule.

    Attributes
    ----------
    where : tuple of one key or bucket, or None
        Where the second label is given; None: nowhere.
    hashed : KeyHash or None
        What takes keys to buckets.
    names : tuple of str
        Of the columns.
    labels : tuple of two
        The label elsewhere, and the label there.
    """

    where: tuple[Any] | None
    hashed: KeyHash | None
    names: tuple[str, ...]
    labels: tuple[Any, Any]

    def __call__(self, keys: Sequence[Hashable]) -> NDArray[np.intp]:
        """Return for each key the place of its label."""
        if self.where is None:
            return np.zeros(len(keys), dtype=np.intp)
        texts = map(spelled, keys)
        if self.hashed is not None:
            chosen: NDArray[np.intp] = (self.hashed.buckets(texts) == self.where[0]).astype(np.intp)
            return chosen
        wanted = spelled(self.where[0])
        return np.array([text == wanted for text in texts], dtype=np.intp)

    def __repr__(self) -> str:
        """Return the rule."""
        rest, there = map(repr, self.labels)
        if self.where is None:
            return f"{rest} always"
        what = self.names[0] if len(self.names) == 1 else f"({_listed(self.names)})"
        if self.hashed is not None:
            return f"{there} if {what} hashes to {self.where[0]} of {1 << self.hashed.bits}, else {rest}"
        return f"{there} if {what} == {_short(self.where[0])}, else {rest}"


class PointClassifier(RuleClassifier):
    """Learn at which one key records have the second label; at all others they have the first.

    A key is the value of the only column, or the whole row: text, numbers, missing values. The set of keys
    need not be known and may be infinite, which no count over all keys could bear.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit; positive. The decimal that is written is meant.
    delta : float, default=0.0
        Probability with which the guarantee may fail; "stability" needs some, "hashing" spends none.
    method : {"auto", "stability", "hashing"}, default="auto"
        "stability" names the key itself, or none, if few records could have changed which. "hashing" names a
        bucket of a public hash, chosen at random whatever the data, and other keys may share it. "auto" is
        "stability" where delta is positive.
    alpha : float, default=0.1
        Error that is wanted, in (0, 1).
    beta : float, default=0.05
        Probability of failure that is allowed, in (0, 1). With "hashing", both settle the number of buckets.
    n_buckets : int or "auto", default="auto"
        Into how many buckets "hashing" hashes: a power of two, at most 2**24.
    classes : sequence, optional
        The two labels that can occur. None takes those in `y`, and the guarantee then says that it assumes
        the set of labels public. Sorted, the second is the one that the point has.
    ledger : PrivacyLedger, optional
        The budget that each fit is charged to, whoever calls it: clones, searches and workers too.
    random_state : None, int or numpy random generator, default=None
        None draws from the operating system. Anything else makes the fit repeatable, for tests only: the
        guarantee then says so.

    Attributes
    ----------
    point_ : None, str, bytes, int, float or tuple of these; or int
        Released. The key, or with "hashing" its bucket; None where there is none, or where a missing value is
        the key: `abstained_` tells which.
    abstained_ : bool
        Released. Whether no key was named; then the first of `classes_` is predicted.
    concept_ : ChosenPoint
        Released. The rule, which it prints as.
    hash_ : KeyHash or None
        Public. What takes keys to buckets, with "hashing".
    method_ : str
        Public. How it was learned.
    classes_ : ndarray of shape (2,)
        Public. The labels, sorted: declared, or assumed public.
    guarantee_ : ApproxDP
        Public. What the fit promises, and on what assumptions.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    dplearn.theory.points : How many records it takes.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record with "stability", (epsilon, 0)
    with "hashing", for every value of the hash. Proof: with "stability", the distance is 0 wherever a
    replaced record can change the leader, and moves by at most 1 (`core.points.leading_key`), which is all
    that `release_if_stable` asks for. With "hashing", the number of records that a bucket gets wrong moves by
    at most 1.

    **Assumes.** What `guarantee_.assumes` lists.

    **Accuracy.** Of records whose labels are a point function, `plan(n_samples)` tells how many keep `alpha`
    and `beta`, whatever their distribution. Where no point function fits, "hashing" is still near the best
    on buckets; "stability" names none unless one key leads all others clearly.

    **Source.** Beimel, Nissim and Stemmer (2013) for "stability", with the choosing mechanism, whose bar is
    more than twice as high; Beimel, Kasiviswanathan and Nissim (2010) for "hashing", where keys are drawn
    from a pseudorandom function.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        method: str = AUTO,
        alpha: float = 0.1,
        beta: float = 0.05,
        n_buckets: int | str = AUTO,
        classes: Sequence[Any] | None = None,
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.alpha = alpha
        self.beta = beta
        self.n_buckets = n_buckets
        self.classes = classes
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, n_samples: int) -> PointPlan:
        """Return what a fit would promise and how accurate it would be, without any data.

        Parameters
        ----------
        n_samples : int
            Number of records.
        """
        n = check_count("n_samples", n_samples, low=1)
        terms = self._terms(self.random_state is not None)
        guarantee = point_promise(terms.price, self.classes)
        return replace(terms.plan(n, self.alpha, self.beta), guarantee=guarantee)

    def _fit(self, X: Any, y: Any, dice: Dice, *, reproducible: bool = False) -> None:
        # 1. Check what is public, and that the data are where they were declared to be.
        terms = self._terms(reproducible)
        hashed = terms.hash(public_seed(self.random_state, type(self).__name__, "hash"))
        declared = self.classes
        charge = self._open_account(terms.price)
        _refuse_times(X)
        X = read_features(self, X, domain=_ANY_CELLS, reset=True)
        classes, labels = read_labels(y, len(X), declared)
        _check_two(classes)
        keys = _row_keys(X)

        # 2. Fix the guarantee, and charge it to the ledger.
        guarantee = point_promise(terms.price, declared)
        charge(guarantee)

        # 3. Summarise the data into integers: a replaced record moves a distance, or each number of errors,
        # by at most 1.
        summary = _Lead(keys, labels) if hashed is None else _Errors(keys, labels, hashed)

        # 4. Release.
        where = summary.release(guarantee, dice)

        # 5. Publish.
        names = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        first, second = classes.tolist()
        self.classes_ = classes
        self.method_ = terms.method
        self.hash_ = hashed
        self.guarantee_ = guarantee
        self.abstained_ = where is None
        self.point_ = None if where is None else where[0]
        self.concept_ = ChosenPoint(where, hashed, tuple(map(str, names)), (first, second))

    def _codes(self, X: Any) -> NDArray[np.intp]:
        check_is_fitted(self)
        _refuse_times(X)
        return self.concept_(_row_keys(read_features(self, X, domain=_ANY_CELLS, reset=False)))

    def _context(self) -> tuple[object, ...]:
        return str(self.epsilon), str(self.delta), self.method, self.alpha, self.beta, str(self.n_buckets)

    def _terms(self, reproducible: bool) -> PointTerms:
        """Read and check all parameters."""
        epsilon = check_number("epsilon", self.epsilon, above=0)
        delta = check_number("delta", self.delta, low=0, below=1)
        alpha, beta = (
            check_number(name, value, above=0, below=1)
            for name, value in (("alpha", self.alpha), ("beta", self.beta))
        )
        given = check_count_or_auto("n_buckets", self.n_buckets, low=1)
        if given is not None and (given & (given - 1) or given > 1 << LARGEST_BITS):
            raise ValueError(f"n_buckets must be a power of two up to 2**{LARGEST_BITS}, got {given}")
        if self.classes is not None:
            _check_two(check_classes(self.classes))
        method = check_choice("method", self.method, (AUTO, *_METHODS))
        if method == AUTO:
            method = "stability" if delta else "hashing"
        if method == "hashing":
            delta = delta * 0
            n_buckets = given or hashed_point_sizes(epsilon=epsilon, alpha=alpha, beta=beta).n_buckets
        else:
            check_number("delta with method='stability'", self.delta, above=0)
            n_buckets = 0
        price = ApproxDP(epsilon, delta, reproducible=reproducible)
        if not n_buckets:
            speaking_table(price)  # refuses an epsilon that is too small for its table
        return PointTerms(method, price, n_buckets)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


class _Lead:
    """The key that leads, and how many replaced records cannot change that."""

    def __init__(self, keys: list[Hashable], labels: NDArray[np.intp]):
        texts = list(map(spelled, keys))
        leader, self.distance = leading_key(texts, labels.tolist())
        self.leader = None if leader is None else (keys[texts.index(leader[0])],)

    def release(self, privacy: ApproxDP, dice: Dice) -> tuple[Hashable] | None:
        return release_if_stable(self.leader, self.distance, privacy=privacy, dice=dice)


class _Errors:
    """How many records each point function on buckets gets wrong."""

    def __init__(self, keys: list[Hashable], labels: NDArray[np.intp], hashed: KeyHash):
        self.n_buckets = 1 << hashed.bits
        self.errors = bucket_errors(hashed.buckets(map(spelled, keys)), labels, self.n_buckets)

    def release(self, privacy: ApproxDP, dice: Dice) -> tuple[int] | None:
        chosen = permute_and_flip(-self.errors, privacy=privacy, dice=dice)
        return None if chosen == self.n_buckets else (chosen,)


def _row_keys(X: Any) -> list[Hashable]:
    """Return each row's key: the cell of the only column, or the tuple of all cells."""
    if is_frame(X):
        columns = [read_keys(frame_column(X, place).tolist()) for place in range(X.shape[1])]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    cells = read_keys(X.ravel().tolist())
    d = X.shape[1]
    return cells if d == 1 else [tuple(cells[i : i + d]) for i in range(0, len(cells), d)]


def _refuse_times(X: Any) -> None:
    types = list(X.dtypes) if is_frame(X) else [getattr(X, "dtype", None)]
    for dtype in filter(holds_times, types):
        raise TypeError(f"X must hold text, bytes or numbers, got dtype {dtype}")


def _check_two(classes: NDArray[Any]) -> None:
    """Refuse any other number of labels, in the words that scikit-learn's users know."""
    if len(classes) != 2:
        raise ValueError(
            "Only binary classification is supported: a point function needs 2 classes, got"
            f" {len(classes)} class" + ("es" if len(classes) != 1 else "; classes=[...] declares both")
        )


def _short(key: Hashable) -> str:
    """Return how a key is written, cut where that is long."""
    try:
        text = repr(key)
    except ValueError:  # Python refuses to write integers of some thousand digits
        return f"a {type(key).__name__} with too many digits to show"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names if len(names) <= _NAMES else (*names[:_NAMES], "..."))
