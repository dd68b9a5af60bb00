"""Private point functions, which assign the second label to one key of a set of any size."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._validation import (
    AUTO,
    check_bool,
    check_choice,
    check_count,
    check_count_or_auto,
    check_goal,
    check_number,
    is_positive,
)
from dplearn.chance import PublicStream, public_seed
from dplearn.chance.dice import Dice
from dplearn.domains import Hashed
from dplearn.domains.cells import frame_column, holds_times, is_frame, object_array
from dplearn.domains.keys import KEYS_ASSUMED, KeyCounts, read_keys, spelled
from dplearn.estimator.base import SeveralOutputsClassifier
from dplearn.estimator.recipe import FitRecipe, OutputsFacts
from dplearn.fit import TABLE
from dplearn.kernels import power_at_most, selection_ratio
from dplearn.kernels.points import (
    BucketSets,
    KeyHash,
    best_entries,
    bucket_errors,
    leading_key,
    n_sets,
    net_counts,
    prefix_errors,
)
from dplearn.learners.limits import SIZE_NOTES, Task, least_of
from dplearn.learners.rules.constant import NOTES, compared
from dplearn.learners.rules.generic import Summary, checked_epsilon
from dplearn.learners.rules.point_sizes import (
    LARGEST_BITS,
    accuracy,
    hashed_class_size,
    hashed_point_sizes,
    proper_point_lower_bound,
    sanitized_point_failure,
    sanitized_shares,
)
from dplearn.mechanisms import (
    permute_and_flip,
    release_if_stable,
    select_exponential,
    select_permute_and_flip,
    stable_histogram,
)
from dplearn.mechanisms.stability import release_probability_table
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import StatedPlan
from dplearn.table import Columns, LabelledRows
from dplearn.table.features import read_features
from dplearn.table.targets import check_pairs, labels_assumed, n_outputs_of, read_outputs

_METHODS = ("stability", "sanitizer", "hashing")
_UNKEYED = b""  # the code of a record without a second label
_ANY_CELLS = Hashed()  # makes `read_features` leave cells unencoded
_KEYS = 1 << 64  # possible keys, for a lower bound; there are at least as many texts
_MOST_KEYS = 100  # with more, the counts of sets would take minutes
_NEGLIGIBLE = 64  # sets that are not told apart by errors have together a weight of at most 2**-64

Where = tuple[Any, ...] | None  # a key, a bucket, a length and a bucket, or buckets; None: an abstention
_EVERY = ()  # every key has the second label


@documented_by()
@dataclass(eq=False, repr=False, kw_only=True)
class PointClassifier(SeveralOutputsClassifier):
    """Learn a point function: one key has the second label, all other keys have the first.

    Drop-in: any number of predictions costs no privacy. A key is the value of the only column, or the whole
    row: text, numbers, missing values. The set of keys may be unknown and infinite. With several labels a
    record, y of shape (n_samples, n_outputs), one point function is learned for each output, at the cost of
    one. Instead of one key, several keys (`n_keys`) or rows that agree in their first columns (`prefixes`)
    may have the second label.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit; at least 1e-9, and for "stability" about 3e-5, or more for a delta below
        1e-6. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=0.0
        ... "stability" and "sanitizer" require a positive delta, "hashing" spends none.
    method : {"auto", "stability", "sanitizer", "hashing"}, default="auto"
        "stability" releases the leading key if it is stable under a change of few records, and else abstains;
        a tenth of epsilon then compares this with the constant labels. With several outputs, it releases the
        keys of a stable histogram of keys with their labels: these must hardly have exceptions. "sanitizer"
        publishes keys by a stable histogram, with half of the budget, and selects among them by the number of
        errors: exceptions may be many, but more records are needed. "hashing" selects a bucket of a public
        hash function; for one output only. "auto": "hashing" without delta, with several keys, or with
        prefixes; else "stability", except for several outputs and so many records that "sanitizer" is proved
        to be as accurate.
    prefixes : bool, default=False
        True: the rows with the second label are those whose first columns, a hierarchy of at least two, have
        certain values; the number of these columns is learned too, and may be 0. By "hashing" only.
    n_keys : int, default=1
        The most keys with the second label, from 1 to 100, and below the number of buckets. More than one by
        "sanitizer" or "hashing"; with 50, a fit takes up to some 20 seconds, and minutes for unfavourable
        data.
    alpha : float, default=0.1
        Target error, from 1e-9 and below 1.
    beta : float, default=0.05
        Allowed probability of failure, from 1e-9 and below 1. With "hashing", both determine the number of
        buckets.
    n_buckets : int or "auto", default="auto"
        Number of buckets of "hashing": a power of two, at most 2**24. "auto": a function of alpha, beta,
        epsilon, `n_keys` and the number of columns.
    classes : sequence, optional
        The two labels that can occur, known without looking at the data; with several outputs, a sequence of
        two for each, or two for all. None: the labels that occur in `y`; the guarantee then assumes that the
        set of labels is public. The key has the second of the sorted labels.

    Attributes
    ----------
    point_ : None, str, bytes, int, float or tuple of these; or int; or list of n_outputs such
        Released. The key, or with "hashing" its bucket. None: an abstention, or a key that is a missing
        value; `abstained_` distinguishes the two. (): every key has the second label. With several outputs,
        one for each. With `n_keys` above 1, the tuple of the keys or buckets. With `prefixes`, the number of
        columns and the bucket of their values; (0, 0) if all rows have the second label.
    abstained_ : bool or ndarray of bool of shape (n_outputs,)
        Released. Whether the mechanism abstained; the first of `classes_` is then predicted for every record.
    concept_ : ChosenKeys or ChosenPrefix, or list of ChosenKeys
        Released. The point function; its `repr` is the rule. With several outputs, one for each.
    hash_ : KeyHash or None
        Public. The hash from keys to buckets, with "hashing"; else None.
    method_ : str
        Public. The method: "stability", "sanitizer" or "hashing".
    classes_ : ndarray of shape (2,), or list of such
    guarantee_, feature_importances_, n_features_in_, feature_names_in_

    See Also
    --------
    dplearn.theory.stable_point_sample_size, dplearn.theory.sanitized_point_sample_size,
    dplearn.theory.hashed_point_sizes : The numbers of records.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record, (epsilon, 0) with "hashing",
    for every value of the hash. Proof: with "stability", the distance of the table to a change of the leading
    key meets the conditions of `release_if_stable` (see `leading_key`), which has nine tenths of epsilon; the
    selection among what it releases and the constant labels costs the rest. With "hashing", one replaced
    record changes the errors of each rule by at most 1, also capped at the least errors of all rules plus a
    public number. With several outputs a record has one key with labels, and the histogram of these has the
    guarantee of `stable_histogram`. With "sanitizer" the published keys have half of the budget; the
    selections of each output are of bounded range and compose to the other half.

    **Accuracy.** For any distribution of records that a point function (or set of keys, or prefix) labels,
    the error, of all outputs together, is at most alpha with probability at least 1 - beta from
    `plan(n_samples).n_needed` records on. If no rule labels the records, "hashing" selects one with nearly
    the least errors, and "sanitizer" does so among published keys; "stability" abstains unless one key has a
    large lead, and with several outputs likely releases the key with the most records of equal labels.

    **Source.** Beimel, Nissim and Stemmer (2013) for "stability". Beimel, Kasiviswanathan and Nissim (2010)
    for "hashing". Feldman and Xiao (2014) for public hashes as one-way protocols, which `n_keys` and
    `prefixes` extend. Bun, Nissim and Stemmer (2016), Theorem 3.13, for several outputs, and Lemma 3.7 for
    "sanitizer" (Corollary 3.9).

    Examples
    --------
    >>> from dplearn import PointClassifier
    >>> rows = [["ward 7"]] * 80 + [[f"ward {i}"] for i in range(100, 220)]
    >>> labels = ["outbreak"] * 80 + ["none"] * 120
    >>> learner = PointClassifier(delta=1e-6, classes=["none", "outbreak"], random_state=0).fit(rows, labels)
    >>> learner.concept_
    'outbreak' if x0 == 'ward 7', else 'none'
    >>> rows = [["ward 7"]] * 60 + [["ward 9"]] * 60 + [["ward 8"]] * 120
    >>> two = [["fever", "-"]] * 60 + [["-", "cough"]] * 60 + [["-", "-"]] * 120  # two labels of each record
    >>> learner = PointClassifier(delta=1e-6, classes=[["-", "fever"], ["-", "cough"]], random_state=0)
    >>> learner.fit(rows, two).point_
    ['ward 7', 'ward 9']
    """

    epsilon: float = 1.0
    delta: float = 0.0
    method: str = AUTO
    prefixes: bool = False
    n_keys: int = 1
    alpha: float = 0.1
    beta: float = 0.05
    n_buckets: int | str = AUTO
    classes: Sequence[Any] | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    def plan(self, n_samples: int, *, n_outputs: int = 1, n_features: int | None = None) -> StatedPlan:
        """Return the plan of a fit: its guarantee and its accuracy. No data is read.

        Parameters
        ----------
        n_features : int, optional
            Number of columns; required with `prefixes`, and of no effect without.

        Returns
        -------
        StatedPlan
            Of `guarantee`, `n_samples` and the parameters `method`, `n_keys`, `prefixes`, `alpha` and `beta`,
            and of

            - `n_buckets`, the number of buckets, and `class_size`, the number of rules among which "hashing"
              selects; both 0 with the other methods;
            - `failure`, a bound on the probability that the error, of any output, exceeds alpha, for records
              that rules without exceptions label;
            - `n_needed`, the least number of records for which `failure` is at most beta, with the best
              number of buckets;
            - `excess_of_constant`, with "stability" and one output: on any labels, the training error exceeds
              that of the most frequent label by at most this, with probability at least 1 - beta / 10;
            - `epsilon_of_comparison`, the part of epsilon that this takes;
            - `n_least`: no learner of this kind has an error of at most alpha with probability at least 1 -
              beta on every distribution that some point function labels with fewer records. With "hashing":
              pure learners with this epsilon, whatever they release (`theory.pure_private_lower_bound`).
              Else: learners with this epsilon and delta that release keys (`theory.proper_point_lower_bound`;
              with fewer than 2**64 possible keys, that function may give a smaller number); None for several
              keys.
        """
        fit = self._recipe(self.random_state is not None)
        n, k = check_count("n_samples", n_samples, low=1), check_count("n_outputs", n_outputs, low=1)
        d = 1 if n_features is None else check_count("n_features", n_features, low=1)
        if fit.prefixes and n_features is None:
            raise ValueError("n_features must be given to the plan of a fit with prefixes=True, got None")
        _check_outputs(fit, k)
        _check_columns(fit, d)
        return fit.planned(OutputsFacts(n, d, n_labels=2, n_outputs=k, many=k > 1))

    def _recipe(self, reproducible: bool) -> "PointFit":
        epsilon = check_number("epsilon", self.epsilon, above=0)
        delta = check_number("delta", self.delta, low=0, below=1)
        alpha, beta = check_goal(self.alpha, self.beta)
        given = check_count_or_auto("n_buckets", self.n_buckets, low=1)
        if given is not None and (given & (given - 1) or given > 1 << LARGEST_BITS):
            raise ValueError(f"n_buckets must be a power of two up to 2**{LARGEST_BITS}, got {given}")
        n_keys = check_count("n_keys", self.n_keys, low=1, high=_MOST_KEYS)
        method = _method(self.method, delta, self.prefixes, n_keys)
        chooses = self.method == AUTO and method == "stability"
        if method == "hashing":
            delta = delta * 0
            if given is not None and n_keys > 1 and n_keys >= given:
                raise ValueError(f"n_keys must be below n_buckets, which is {given}, got {n_keys}")
            # Raises if too many buckets are needed; for two columns nearly as many as for more.
            columns = 2 if self.prefixes else None
            hashed_point_sizes(epsilon=epsilon, alpha=alpha, beta=beta, n_keys=n_keys, n_columns=columns)
        else:
            check_number(f"delta with method={method!r}", self.delta, above=0)
        cost = ApproxDP(epsilon, delta, reproducible=reproducible)
        if method == "sanitizer":
            checked_epsilon(epsilon)
        if method == "stability":  # raises if epsilon is too small for the table
            release_probability_table(replace(cost, epsilon=compared(epsilon, beta)[1]))
        return PointFit(
            self,
            cost,
            method=method,
            chooses=chooses,
            prefixes=bool(self.prefixes),
            n_keys=n_keys,
            n_buckets=given,
            alpha=self.alpha,
            beta=self.beta,
            delta=self.delta,
        )

    def _publish(self, outcome: list[Where], plan: StatedPlan) -> None:
        public, names = plan.public, tuple(map(str, plan.public.names))
        labels = [tuple(each.tolist()) for each in public.classes]
        rule = ChosenPrefix if plan.prefixes else ChosenKeys
        pairs = zip(outcome, labels, strict=True)
        concepts = [rule(where, plan.hashed, names, pair) for where, pair in pairs]
        one = plan.n_keys == 1 and not plan.prefixes
        points = [where[0] if where and one else where for where in outcome]
        abstained = [where is None for where in outcome]
        self.method_, self.hash_ = plan.method, plan.hashed
        found: tuple[Any, ...] = points, np.array(abstained), concepts, public.classes
        if not public.many:
            found = tuple(each for [each] in (points, abstained, concepts, public.classes))
        self.point_, self.abstained_, self.concept_, self.classes_ = found

    def _codes(self, X: Any) -> NDArray[Any]:
        """Return the predicted label code of each row in each output."""
        check_is_fitted(self)
        _refuse_times(X)
        keys = _row_keys(read_features(self, X, domain=_ANY_CELLS, reset=False))
        if isinstance(self.concept_, list):
            return _codes_of(self.concept_, keys)
        return self.concept_(keys)[:, None]

    def _context(self) -> tuple[object, ...]:
        sizes = self.alpha, self.beta, str(self.n_buckets), self.prefixes, self.n_keys
        return str(self.epsilon), str(self.delta), self.method, *sizes

    _two_labels = "a point function"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        one = not self.prefixes and self.n_keys == 1 and self.method in (AUTO, "stability")
        many = (one or self.method == "sanitizer") and is_positive(self.delta)
        tags.classifier_tags.multi_label = tags.target_tags.multi_output = many
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


class PointFit(FitRecipe):
    """The fit of `PointClassifier`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        stream = PublicStream(public_seed(self.random_state, self.name, "hash"))
        _check_outputs(self, n_outputs_of(y))
        _refuse_times(X)
        X = read_features(reader, X, domain=_ANY_CELLS, reset=True)
        _check_columns(self, X.shape[1])
        outputs = read_outputs(y, len(X), self.classes)
        check_pairs(outputs.classes, self.kind._two_labels)
        names = getattr(reader, "feature_names_in_", [f"x{i}" for i in range(X.shape[1])])
        codes = outputs.codes.astype(np.uint8) if outputs.many else outputs.codes[:, 0]
        n, d = X.shape
        public = OutputsFacts(
            n, d, 2, names, outputs.classes, stream, n_outputs=len(outputs.classes), many=outputs.many
        )
        return public, LabelledRows(Columns([object_array(_row_keys(X))]), codes)

    def plan(self, facts: OutputsFacts) -> StatedPlan:
        n, k, method, alpha, beta = facts.n_samples, facts.n_outputs, self.method, self.alpha, self.beta
        asked: dict[str, Any] = {"epsilon": self.cost.epsilon, "alpha": alpha}
        n_buckets, size, comparison, rest = 0, 0, None, beta
        if method == "hashing":
            kind = {"n_keys": self.n_keys, "n_columns": facts.n_features if self.prefixes else None}
            asked |= kind
            n_buckets = self.n_buckets or hashed_point_sizes(**asked, beta=beta).n_buckets
            size = hashed_class_size(n_buckets, **kind)
        else:
            asked |= {"delta": self.cost.delta, "n_outputs": k}
        if method == "sanitizer":
            asked["n_keys"] = self.n_keys
        if method == "stability" and k == 1:
            comparison, asked["epsilon"], rest = compared(self.cost.epsilon, Fraction(beta))
        failure, needed = accuracy(method, n, n_buckets, rest, **asked)
        if comparison:
            failure = min(1.0, failure + comparison.failure(n, float(alpha)))
            needed = max(needed, comparison.n_needed(float(alpha)))
        if self.chooses and k > 1 and (sanitized := sanitized_point_failure(n, **asked)) <= beta:
            method, failure = "sanitizer", sanitized
        assumes = (*TABLE, KEYS_ASSUMED, labels_assumed(self.classes))
        hashed = _hash(facts.stream.seed, n_buckets) if facts.stream and n_buckets else None
        return StatedPlan(
            replace(self.cost, assumes=assumes),
            title="PointPlan",
            states={
                "method": method,
                "n_keys": self.n_keys,
                "prefixes": self.prefixes,
                "n_buckets": n_buckets,
                "class_size": size,
                "n_samples": n,
                "failure": failure,
                "n_needed": needed,
                **(comparison.states(n) if comparison else {}),
                "alpha": alpha,
                "beta": beta,
            },
            least={"n_least": partial(_least, method, self.n_keys, alpha, beta)},
            # Two point functions agree at a third key.
            keeps={"hashed": hashed, "task": Task("realizable", rooted=True), "comparison": comparison},
            notes={**SIZE_NOTES, "n_least": "no such learner with fewer", **NOTES},
            public=facts,
        )

    def summarize(self, rows: Any, plan: StatedPlan) -> Summary:
        # A replaced record changes the distance, or each number of errors, by at most 1; of several outputs,
        # one key with its labels is replaced.
        releases = {
            "sanitizer": _by_published_keys,
            "stability": _by_counts if plan.public.many else _by_lead,
            "hashing": _by_errors_of_sets if self.n_keys > 1 else _by_errors,
        }
        release = _by_prefix_errors if self.prefixes else releases[plan.method]
        return Summary(rows, partial(release, plan=plan))

    def run(self, summary: Summary, plan: StatedPlan, dice: Dice) -> list[Where]:
        return summary.value(plan.guarantee, dice)


def _least(method: str, n_keys: int, alpha: Any, beta: Any, guarantee: ApproxDP) -> int | None:
    if method != "hashing":
        if n_keys > 1:
            return None
        budget = {"epsilon": guarantee.epsilon, "delta": guarantee.delta}
        return proper_point_lower_bound(_KEYS, **budget, alpha=alpha, beta=beta)
    # Two point functions of three keys agree at the third.
    return least_of(guarantee, dimension=1, rooted=1, alpha=alpha, beta=beta)


def _hash(seed: Any, n_buckets: int) -> KeyHash:
    multiplier, shift = (public_seed(seed, part) for part in ("multiplier", "shift"))
    return KeyHash(multiplier, shift, n_buckets.bit_length() - 1)


Release = Callable[[ApproxDP, Dice], list[Where]]  # of the key of each output, where it has the second label


def _by_lead(records: LabelledRows, plan: StatedPlan) -> Release:
    """Return the release of the leading key by its distance to a change of the leader, or of a constant."""
    keys: list[Hashable] = records.X.columns[0].tolist()
    texts = list(map(spelled, keys))
    labels = records.y.tolist()
    leading, distance = leading_key(texts, labels)
    leader = None if leading is None else (keys[texts.index(leading[0])],)
    comparison, n, ones = plan.comparison, len(records), sum(labels)

    def release(privacy: ApproxDP, dice: Dice) -> list[Where]:
        rest = replace(privacy, epsilon=privacy.epsilon - comparison.epsilon)
        found = release_if_stable(leader, distance, privacy=rest, dice=dice)
        there = None if found is None else spelled(found[0])
        wrong = sum((text == there) != one for text, one in zip(texts, labels, strict=True))
        constant = comparison.constant(wrong, ones, n, dice)
        return [found if constant is None else _EVERY if constant else None]

    return release


def _by_counts(records: LabelledRows, plan: StatedPlan) -> Release:  # noqa: ARG001
    """Return the release of the counts of keys with their labels in all outputs."""
    keys, seconds = records.X.columns[0].tolist(), records.y
    codes = [
        spelled(key) + packed.tobytes() if counts else _UNKEYED
        for key, packed, counts in zip(keys, np.packbits(seconds, axis=1), seconds.any(axis=1), strict=True)
    ]
    counts, place_of = KeyCounts.of(codes), {code: place for place, code in enumerate(codes)}

    def release(privacy: ApproxDP, dice: Dice) -> list[Where]:
        published = stable_histogram(counts, privacy=privacy, dice=dice)
        published.pop(_UNKEYED, None)
        # All records with a code have its key and labels, so the result is a function of what is published.
        places = [place_of[code] for code in published]
        found = records.X.columns[0][places].tolist()
        best = best_entries(np.array(list(published.values()), dtype=np.int64), seconds[places])
        return [None if entry is None else (found[entry],) for entry in best]

    return release


def _by_errors(records: LabelledRows, plan: StatedPlan) -> Release:
    """Return the selection of a point function on buckets by its training errors."""
    m = 1 << plan.hashed.bits
    errors = bucket_errors(plan.hashed.buckets(map(spelled, records.X.columns[0].tolist())), records.y, m)

    def release(privacy: ApproxDP, dice: Dice) -> list[Where]:
        chosen = permute_and_flip(-errors, privacy=privacy, dice=dice)
        return [None if chosen == m else (chosen,)]

    return release


def _by_prefix_errors(records: LabelledRows, plan: StatedPlan) -> Release:
    """Return the selection of a rule on prefixes of d cells by its training errors."""
    m, d = 1 << plan.hashed.bits, plan.public.n_features
    levels = prefix_buckets(plan.hashed, records.X.columns[0].tolist(), range(1, d + 1))
    errors = prefix_errors(levels, records.y, m)

    def release(privacy: ApproxDP, dice: Dice) -> list[Where]:
        chosen = permute_and_flip(-errors, privacy=privacy, dice=dice)
        level, bucket = divmod(chosen, m)
        if level < d:
            return [(level + 1, bucket)]
        return [(0, 0) if chosen == errors.size - 1 else None]

    return release


def _by_errors_of_sets(records: LabelledRows, plan: StatedPlan) -> Release:
    """Return the selection of a set of at most `n_keys` buckets by its training errors."""
    m, n = 1 << plan.hashed.bits, len(records)
    buckets = plan.hashed.buckets(map(spelled, records.X.columns[0].tolist()))
    sets = sets_of(net_counts(buckets, records.y, m), plan.n_keys, n, plan.guarantee.epsilon)
    ones = int(np.count_nonzero(records.y))

    def release(privacy: ApproxDP, dice: Dice) -> list[Where]:
        return [chosen_set(sets, ones, partial(select_permute_and_flip, privacy=privacy, dice=dice)) or None]

    return release


def _by_published_keys(records: LabelledRows, plan: StatedPlan) -> Release:
    """Return the selections of keys, for each output, among those that a stable histogram publishes."""
    cells, labels = records.X.columns[0].tolist(), records.y.reshape(len(records), -1)
    texts = list(map(spelled, cells))
    # A rule with fewer errors than the first label everywhere has keys with second labels.
    counts = KeyCounts.of(
        text if some else _UNKEYED for text, some in zip(texts, labels.any(axis=1), strict=True)
    )
    key_of = dict(zip(texts, cells, strict=True))

    def release(privacy: ApproxDP, dice: Dice) -> list[Where]:
        half, share = sanitized_shares(privacy, labels.shape[1])
        published = stable_histogram(counts, privacy=half, dice=dice)
        published.pop(_UNKEYED, None)
        if not published:
            return [None] * labels.shape[1]
        keys: list[Any] = list(published)
        places = {text: place for place, text in enumerate(keys)}
        among = [place for place, text in enumerate(texts) if text in places]
        buckets = np.array([places[texts[place]] for place in among], dtype=np.int64)
        select = partial(select_exponential, privacy=share, dice=dice)
        found = []
        for column in labels.T:
            nets = net_counts(buckets, column[among], len(keys))
            sets = sets_of(nets, min(plan.n_keys, len(keys)), len(records), share.epsilon)
            found.append(chosen_set(sets, int(np.count_nonzero(column)), select))
        return [tuple(key_of[keys[place]] for place in chosen) or None for chosen in found]

    return release


def sets_of(nets: NDArray[np.int64], n_keys: int, n: int, epsilon: Fraction) -> BucketSets:
    """Return the sets of at most `n_keys` buckets, by their errors, as far as these are told apart."""
    # All sets with errors above the cap have together at most this weight relative to the best set.
    weight = Fraction(1, n_sets(len(nets), n_keys) << _NEGLIGIBLE)
    return BucketSets(nets, n_keys, min(n + 1, power_at_most(selection_ratio(epsilon), weight)))


def chosen_set(sets: BucketSets, ones: int, select: Callable[..., tuple[int, int]]) -> tuple[int, ...]:
    """Return a set that is selected by its errors; with the empty set they are the number of `ones`."""
    deficits, sizes = sets.groups()
    level, index = select([ones - sets.best + deficit for deficit in deficits], sizes)
    return sets.member(deficits[level], index)


def _codes_of(concepts: "Sequence[ChosenKeys]", keys: Sequence[Hashable]) -> NDArray[np.uint8]:
    """Return the label code of each key in each output; keys are not hashed."""
    outputs: dict[bytes, list[int]] = {}
    for output, concept in enumerate(concepts):
        for key in concept.where or ():
            outputs.setdefault(spelled(key), []).append(output)
    codes = np.zeros((len(keys), len(concepts)), dtype=np.uint8)
    for place, text in enumerate(map(spelled, keys)):
        if text in outputs:
            codes[place, outputs[text]] = 1
    return codes


def _check_outputs(params: FitRecipe, n_outputs: int) -> None:
    """Raise an error if the method does not support the number of outputs."""
    if n_outputs > 1 and params.method == "hashing":
        delta = "" if is_positive(params.delta) else "delta above 0 and "
        other = "" if params.prefixes else f", or set {delta}method='sanitizer'"
        raise ValueError(
            f"the number of outputs must be 1 with method='hashing', got {n_outputs}: fit a learner for each"
            f" output{other}"
        )


def _check_columns(params: FitRecipe, d: int) -> None:
    """Raise an error if there is one column, which has no prefixes but its values."""
    if params.prefixes and d < 2:
        raise ValueError(
            f"X must have at least 2 columns with prefixes=True, got n_features = {d}: make a column of each"
            " level of the hierarchy, or set prefixes=False"
        )


def _method(method: Any, delta: Fraction, prefixes: Any, n_keys: int) -> str:
    """Return the method; raise an error if it does not go with prefixes or several keys."""
    if check_bool("prefixes", prefixes) and n_keys > 1:
        raise ValueError(f"n_keys must be 1 with prefixes=True, got {n_keys}")
    chosen = check_choice("method", method, (AUTO, *_METHODS))
    if not prefixes and (n_keys == 1 or chosen == "sanitizer"):
        return chosen if chosen != AUTO else "stability" if delta else "hashing"
    if chosen in ("stability", "sanitizer"):
        several, others = ("prefixes=True", "") if prefixes else (f"n_keys={n_keys}", "'sanitizer', ")
        raise ValueError(f"method must be {others}'hashing' or 'auto' with {several}, got {chosen!r}")
    return "hashing"


def _row_keys(X: Any) -> list[Hashable]:
    """Return the key of each row: the cell of the only column, or the tuple of all cells."""
    if is_frame(X):
        columns = [read_keys(frame_column(X, place).tolist()) for place in range(X.shape[1])]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    cells = read_keys(X.ravel().tolist())
    d = X.shape[1]
    return cells if d == 1 else [tuple(cells[i : i + d]) for i in range(0, len(cells), d)]


def _refuse_times(X: Any) -> None:
    types = list(X.dtypes) if is_frame(X) else [getattr(X, "dtype", None)]
    for dtype in filter(holds_times, types):
        raise TypeError(
            f"X must hold text, bytes or whole numbers, got dtype {dtype}: turn it into text first, such as"
            " d.astype(str) or d.dt.strftime('%Y-%m')"
        )


_SHOWN = 60  # the most characters of a key in a rule
_NAMES = 4  # the most column names in a rule


@dataclass(frozen=True, repr=False)
class _Rule:
    """What all rules have; see `ChosenKeys`."""

    where: Any
    hashed: KeyHash | None
    names: tuple[str, ...]
    labels: tuple[Any, Any]

    @property
    def used(self) -> Sequence[int]:
        return range(len(self.names) if self.where else 0)

    def _said(self, condition: str) -> str:
        rest, there = map(repr, self.labels)
        return f"{there} if {condition}, else {rest}"

    def _hashed_to(self, buckets: Sequence[int], names: Sequence[str]) -> str:
        assert self.hashed is not None
        numbers = [str(bucket) for bucket in buckets]
        shown = numbers[-1] if len(numbers) == 1 else f"{', '.join(numbers[:-1])} or {numbers[-1]}"
        return self._said(f"{_columns(names)} hashes to {shown} of {1 << self.hashed.bits}")


@dataclass(frozen=True, repr=False)
class ChosenPrefix(_Rule):
    """A released rule about the first columns of a row; its `repr` is the rule.

    Attributes
    ----------
    where : tuple of two int, or None
        The number of columns, and the bucket of their values with the second label; (0, 0): all rows have it;
        None: no row has it.
    hashed : KeyHash
        The hash from prefixes of rows to buckets.
    names : tuple of str
        The names of all columns.
    labels : tuple of two
        The label of all other rows, and the label of these rows.
    """

    def __call__(self, keys: Sequence[Hashable]) -> NDArray[np.intp]:
        """Return the label code of each row, a tuple of the cells of all columns."""
        if self.where is None or not self.where[0]:
            return np.full(len(keys), 0 if self.where is None else 1, dtype=np.intp)
        assert self.hashed is not None
        length, bucket = self.where
        (buckets,) = prefix_buckets(self.hashed, keys, [length])
        return (buckets == bucket).astype(np.intp)

    def __repr__(self) -> str:
        if self.where is None or not self.where[0]:
            return f"{self.labels[self.where is not None]!r} always"
        length, bucket = self.where
        return self._hashed_to([bucket], self.names[:length])


@dataclass(frozen=True, repr=False)
class ChosenKeys(_Rule):
    """A released rule about a few keys, or buckets of keys; its `repr` is the rule.

    Attributes
    ----------
    where : tuple, or None
        The keys, or the buckets in increasing order, with the second label; None: no key has it; (): every
        key has it.
    hashed : KeyHash or None
        The hash from keys to buckets; None: keys are not hashed.
    names : tuple of str
        The names of the columns.
    labels : tuple of two
        The label of all other keys, and the label of these keys.
    """

    def __call__(self, keys: Sequence[Hashable]) -> NDArray[np.intp]:
        if self.where == _EVERY:
            return np.ones(len(keys), dtype=np.intp)
        texts = map(spelled, keys)
        if self.hashed is not None:
            return np.isin(self.hashed.buckets(texts), self.where or ()).astype(np.intp)
        wanted = set(map(spelled, self.where or ()))
        return np.array([text in wanted for text in texts], dtype=np.intp)

    def __repr__(self) -> str:
        if not self.where:
            return f"{self.labels[self.where is not None]!r} always"
        if self.hashed is not None:
            return self._hashed_to(self.where, self.names)
        if len(self.where) == 1:
            return self._said(f"{_columns(self.names)} == {_short(self.where[0])}")
        return self._said(f"{_columns(self.names)} in {{{', '.join(map(_short, self.where))}}}")


def prefix_buckets(hashed: KeyHash, rows: Sequence[Any], lengths: Iterable[int]) -> list[NDArray[np.int64]]:
    cells = [[spelled(cell) for cell in row] for row in rows]
    # The spelling of the tuple of the first cells.
    return [
        hashed.buckets(b"t%d:%b" % (length, b"".join(texts[:length])) for texts in cells)
        for length in lengths
    ]


def _columns(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"({', '.join(names if len(names) <= _NAMES else (*names[:_NAMES], '...'))})"


def _short(key: Hashable) -> str:
    """Return a key as text, truncated if it is long."""
    try:
        text = repr(key)
    except ValueError:  # Python does not convert integers of thousands of digits
        return f"a {type(key).__name__} with too many digits to show"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
