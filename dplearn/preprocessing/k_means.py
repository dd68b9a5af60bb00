"""Private k-means: a few rounds of noisy counts and sums of the records nearest to each centre."""

from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from math import ceil, sqrt
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from dplearn._documented import documented_by
from dplearn._progress import watched
from dplearn._validation import check_count
from dplearn.chance import PublicStream
from dplearn.kernels import float_blocks
from dplearn.preprocessing.boxed_columns import (
    Asked,
    Box,
    BoxedColumns,
    BoxedColumnsFit,
    BoxPlan,
    reach_of,
    released_spread,
    shortened,
    spread_query,
)
from dplearn.preprocessing.number_columns import NumberColumns, Numbers, in_blocks
from dplearn.privacy import PrivacyLedger
from dplearn.queries import Oracle, VectorQuery
from dplearn.queries.noise import norm_order

# Chosen on the tables that `dplearn.preprocessing.boxed_columns` names.
_SPREAD_SHARE = Fraction(1, 4)  # of the budget, for the means and variances of columns
_ROUNDS = 3
_RADIUS = 1.4  # rows are shortened to so many root mean squared distances from the mean
_START = 1.0  # initial centres are so many standard deviations from the mean, per column
_CANDIDATES = 32  # for each initial centre: the farthest from all others is chosen
_CLEAR = 3.0  # a centre moves if the count of its records exceeds so many deviations of its noise

_NO_LABELS = (
    "since labels of the fitted private records are not protected; use fit, and then predict for rows whose"
    " labels may be seen"
)


@documented_by(BoxedColumns, NumberColumns)
@dataclass(eq=False, repr=False)
class PrivateKMeans(ClassNamePrefixFeaturesOutMixin, BoxedColumns):
    """Cluster centres from noisy counts and sums, in few rounds.

    A first query releases the means and variances of columns, around which initial centres are placed. In
    each round records are assigned to their nearest centre, which moves to their noisy mean. A centre without
    clearly more records than noise moves next to that of most records. Scale columns first where units
    differ.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of centres, from 1 to 65,536.

    Attributes
    ----------
    cluster_centers_ : ndarray of float64 of shape (n_clusters, n_features)
        Released. The centres, within the box.
    cluster_counts_ : ndarray of float64 of shape (n_clusters,)
        Released. The noisy numbers of records of each centre in the last round; at least 0.
    n_iter_ : int
        Public. The number of rounds.
    noise_

    Notes
    -----
    There are no `labels_`, which would be published without protection; `predict` computes labels of rows.

    **Privacy.** (epsilon, delta)-differential privacy for one replaced record; the number of records is
    public. Proof: quantiles, if any, take a fifth of epsilon. Each query (`spread_query`, then
    `cluster_query` for each round) is determined by earlier answers, with noise for its share of the rest.

    **Accuracy.** `plan(n_samples, n_features=...)`: the deviation is that of the noise of a cluster's share
    of the records in one round. No bound on the distance to the best centres is known.

    **Source.** Blum, Dwork, McSherry and Nissim (2005); Su, Cao, Li, Bertino and Jin (2016) for few rounds.
    The initial centres, the radius from released variances, and the weight of counts are ours.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.domains import Grid
    >>> from dplearn.preprocessing import PrivateKMeans
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(6000, 2)) + np.repeat([[-6, 0], [6, 0], [0, 6]], 2000, axis=0)
    >>> clusters = PrivateKMeans(3, domain=Grid(-12, 12, outside="clip"), random_state=0).fit(X)
    >>> sorted(np.abs(clusters.cluster_centers_.round()).tolist())
    [[0.0, 6.0], [6.0, 0.0], [6.0, 0.0]]
    """

    n_clusters: int = 8
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 1e-6
    domain: Any = "float64"
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    _rounds = _ROUNDS  # audits use fewer

    @property
    def fit_predict(self) -> NoReturn:
        """Absent: the labels of the fitted records would be published without protection."""
        raise AttributeError(f"PrivateKMeans has no fit_predict, {_NO_LABELS}")

    @property
    def labels_(self) -> NoReturn:
        """Absent: the labels of the fitted records would be published without protection."""
        raise AttributeError(f"PrivateKMeans has no labels_, {_NO_LABELS}")

    def _recipe(self, reproducible: bool) -> "KMeansFit":
        return KMeansFit.like(super()._recipe(reproducible))

    def _checked(self) -> dict[str, Any]:
        count = check_count("n_clusters", self.n_clusters, low=1, high=1 << 16)
        return {"n_clusters": count, "rounds": self._rounds}

    def _publish(self, outcome: tuple[Numbers, Numbers], plan: BoxPlan) -> None:
        self.cluster_centers_, self.cluster_counts_ = outcome
        self.n_iter_, self._n_features_out = self._rounds, len(self.cluster_centers_)
        self.noise_ = plan.noise

    def transform(self, X: Any) -> Numbers:
        """Return the distance of each row to each centre.

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_clusters)
        """
        numbers = self._numbers(X)
        # Far rows are moved so near that no square overflows.
        centres = self.cluster_centers_.clip(-1e150, 1e150)

        def distances(rows: Numbers) -> Numbers:
            near, found = rows.clip(-1e150, 1e150), np.empty((len(rows), len(centres)))
            for place, centre in enumerate(centres):
                differences = near - centre
                found[:, place] = np.sqrt(np.einsum("ij,ij->i", differences, differences))
            return found

        return in_blocks(distances, numbers, len(centres))

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the nearest centre of each row; costs no privacy.

        Returns
        -------
        ndarray of int32 of shape (n_samples,)
            Row numbers of `cluster_centers_`.
        """
        return np.asarray(self.transform(X).argmin(axis=1), dtype=np.int32)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Return minus the sum of squared distances of rows to their nearest centres, not private for these
        rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            The weights of the squared distances.
        """
        squares = self.transform(X).min(axis=1) ** 2
        return -float(squares.sum() if sample_weight is None else squares @ np.asarray(sample_weight))


class KMeansFit(BoxedColumnsFit):
    """The fit of `PrivateKMeans`."""

    def queries(self, n_columns: int, noise: str, steps: int) -> list[Asked]:
        asked = ClusterRound(
            np.zeros((self.n_clusters, n_columns)), np.zeros(n_columns), steps, norm_order(noise)
        )
        query = cluster_query(asked)
        query.unit = Fraction(1, steps)
        return [(query, (1 - _SPREAD_SHARE) / self.rounds), (spread_query(n_columns, steps), _SPREAD_SHARE)]

    def asked(self, oracle: Oracle, plan: BoxPlan, box: Box) -> tuple[Numbers, Numbers]:
        # All numbers below are in steps of the grid, and functions of answers.
        steps, stream, k = plan.steps, plan.public.stream, self.n_clusters
        found = released_spread(oracle, len(plan.product), steps, _SPREAD_SHARE)
        mean, spread = found.mean, found.deviations
        radius = found.radius(_RADIUS, steps, plan.order)
        centres = mean + _START * spread * _apart(stream, k, len(mean))
        counts = np.zeros(k)
        for turn in watched(range(self.rounds), "Moving centres"):
            asked = ClusterRound(centres, np.rint(mean), radius, plan.order)
            answer = oracle.ask(cluster_query(asked), share=(1 - _SPREAD_SHARE) / self.rounds)[0]
            counts = answer.means[:k] / radius
            sums = answer.means[k:].reshape(k, -1)
            deviation = sqrt(answer.noise_variance) / radius
            clear = counts > _CLEAR * deviation
            moved = asked.middle + sums / np.where(clear, counts, 1.0)[:, None]
            near = centres[counts.argmax()] + spread * (2 * _normal(stream, centres.shape) / 3)
            last = turn == self.rounds - 1
            centres = np.where(clear[:, None], moved, centres if last else near)
        unit = reach_of(box, plan) / steps
        inside = (box.middle + unit * centres.clip(-steps, steps)).clip(box.low, box.high)
        return inside, np.maximum(counts, 0.0) * plan.n_samples

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        facts, rows = super().encoded(X, y, reader)
        return replace(facts, stream=self.stream()), rows


class ClusterRound:
    """The assignment of rows to their nearest centres; rows are measured from a middle and shortened."""

    def __init__(self, centres: Numbers, middle: Numbers, radius: int, order: int):
        self.middle, self.radius, self.order = middle, radius, order
        self.places = centres - middle
        self.shape = centres.shape

    def of(self, rows: Numbers) -> tuple[NDArray[np.intp], Numbers]:
        """Return the nearest centre of each row, and the shortened row; each depends on its row alone."""
        near = shortened(rows - self.middle, self.radius, self.order)
        # The squared distance without the square of the row, summed column by column: a product of matrices
        # may depend on the number of rows.
        far = np.repeat((self.places**2).sum(axis=1, keepdims=True) / 2, len(rows), axis=1)
        for column, places in zip(np.ascontiguousarray((rows - self.middle).T), self.places.T, strict=True):
            far -= places[:, None] * column
        return far.argmin(axis=0), near


def cluster_query(asked: ClusterRound) -> VectorQuery:
    """Return the query for the number of records of each centre, and the sums of their rows.

    **Privacy.** Two records of one centre differ by rows, at most 2 R apart; else the squared distance is at
    most 2 R^2 + R^2 + R^2, and in L1 2 R + R + R. So totals move by at most 4 R^2 or 4 R.
    """
    (k, d), radius = asked.shape, asked.radius

    def each(rows: NDArray[np.int32]) -> NDArray[np.int64]:
        places, near = asked.of(rows.astype(np.float64))
        numbers = np.zeros((len(rows), k, d), dtype=np.int64)
        numbers[np.arange(len(rows)), places] = near
        counts = radius * (places[:, None] == np.arange(k))
        return np.hstack([counts, numbers.reshape(len(rows), k * d)])

    def total(rows: NDArray[np.int32]) -> NDArray[np.int64]:
        sums = np.zeros((k, d + 1))
        for _, block in float_blocks(rows):
            places, near = asked.of(block)
            for column in range(d):
                sums[:, column] += np.bincount(places, weights=near[:, column], minlength=k)
            sums[:, d] += np.bincount(places, minlength=k)
        whole = sums.astype(np.int64)  # sums of integers below 2**13, exact in floats
        return np.concatenate([radius * whole[:, d], whole[:, :d].ravel()])

    return VectorQuery(
        each,
        size=k * (1 + d),
        norm=ceil(sqrt(2) * radius) + 1,
        total=total,
        l1=4 * radius,
        squared_l2=4 * radius**2,
        ends=(-radius, radius),
    )


def _apart(stream: PublicStream, k: int, d: int) -> Numbers:
    """Return k public points of a normal distribution, each the farthest from the others among some."""
    points = _normal(stream, (1, d))
    while len(points) < k:
        candidates = _normal(stream, (_CANDIDATES, d))
        nearest = ((candidates[:, None] - points) ** 2).sum(axis=2).min(axis=1)
        points = np.vstack([points, candidates[nearest.argmax()]])
    return points


def _normal(stream: PublicStream, shape: tuple[int, ...]) -> Numbers:
    """Return public standard normal numbers, within three deviations."""
    uniform = stream.uniform(int(np.prod(shape))).reshape(shape)
    return ndtri(uniform.clip(0.00135, 0.99865))
