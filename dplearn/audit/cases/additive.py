"""Audit cases of additive models: a whole fit of one cell, each kind of query, and fits for replay.

Further queries are enumerated with released values that no fit need produce. Numbers of a row are 1, 0 or -1
on the coarsest grid. Gaussian noise has too large a support: the case of `central_gaussian` enumerates it,
and whole fits are replayed. A whole fit of numbers runs with the noise of one query at a time, which keeps
its share of the budget, and far noise, that of given answers, in all others.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import Any

import numpy as np

from dplearn.audit.case import NOTHING_REQUIRED, AuditCase, Required
from dplearn.audit.fits import Fit, Rows, WholeFit, refitted, with_draws
from dplearn.audit.replay import RULES, moved_by
from dplearn.chance.dice import Dice
from dplearn.domains import Categories, Floats
from dplearn.learners.additive import AdditiveClassifier, AdditiveRegressor
from dplearn.learners.additive.losses import LogisticLoss, OutputsLoss, SoftmaxLoss, SquaredLoss
from dplearn.learners.additive.model import JointBasis
from dplearn.learners.additive.plan import Bits
from dplearn.learners.additive.poisson import PoissonLoss
from dplearn.learners.additive.queries import Block, mass_query, moment_query, outputs_query, residual_query
from dplearn.learners.additive.queries import Rows as Tables
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import NEIGHBORS
from dplearn.privacy.unknown_count import ADDED, COUNT_SHARE, MOST_RECORDS
from dplearn.queries import CentralOracle, LabelledRows, StatisticalQuery
from dplearn.table.targets import STEPS

__all__ = [
    "CASES",
    "COARSEST",
    "PAIRS",
    "REPLAYS",
    "SIGNS",
    "additive_case",
    "additive_query_case",
    "counts_gradient",
    "joint_rows",
    "signed_tables",
    "with_far_noise",
    "with_one_noise",
]

_CLASSIFIER, _REGRESSOR = "AdditiveClassifier", "AdditiveRegressor"
#: The coarsest grid of all sums but the first residuals, which are in halves.
COARSEST = Bits(rows=0, factors=1, masses=0, moments=0, pairs=0, targets=0)
_FAR = 1 << 60
_HALF = LogisticLoss(Fraction(1, 2))


def additive_case(
    name: str,
    model: AdditiveClassifier | AdditiveRegressor,
    n: int,
    universe: Any,
    *,
    bits: Bits | None = None,
    steps: int | None = 1,
    bins: int = 3,
    moves: int = 2,
    most_records: int | None = None,
    required: Required = NOTHING_REQUIRED,
) -> AuditCase:
    """Return a case of a whole fit of fewer steps, with a coarser histogram of residuals."""
    few = {} if most_records is None else {"_most_records": most_records}
    make = refitted(model, _bits=bits, _steps=steps, _bins=bins, **few)
    return AuditCase(
        name,
        WholeFit(make, _split, _shown),
        universe,
        n,
        ApproxDP(model.epsilon, model.delta, neighbors=model.neighbors),
        ordered=False,
        rules={**RULES, "discrete_laplace": moved_by(moves)},
        verifies=(type(model).__name__,),
        required=required,
    )


def _split(rows: Rows) -> tuple[Any, Any]:
    X = np.empty((len(rows), len(rows[0]) - 1), dtype=object)
    X[:] = [row[:-1] for row in rows]
    return X, np.array([row[-1] for row in rows])


def _shown(fitted: Any) -> tuple[str, Any]:
    models = getattr(fitted, "estimators_", None)
    return (_text(fitted) if models is None else " and ".join(map(_text, models))), fitted


def _text(model: Any) -> str:
    shapes = [
        (np.round(shape.effects, 4), np.round(shape.deviations, 4), np.round(shape.masses, 4))
        for shape in model.shapes_
    ]
    spread = getattr(model, "residual_std_", 0.0)
    shown: tuple[Any, ...] = (shapes, np.round(model.intercept_, 4), round(spread, 4))
    if hasattr(model, "noisy_count_"):
        shown += (model.noisy_count_,)
    return str(shown)


def signed_tables(*numbers: int, constant: int = 0, reach: int = 1, order: int = 2) -> Tables:
    """Return one table with a row of one number for each cell."""
    return Tables([np.array(numbers)[:, None]], constant, reach, 1.0, order)


def additive_query_case(
    name: str,
    query: Callable[[], StatisticalQuery],
    universe: Any,
    *learners: str,
    n: int = 1,
    outputs: int = 1,
    neighbors: str = NEIGHBORS[0],
    required: Required = NOTHING_REQUIRED,
) -> AuditCase:
    """Return a case of one query, with Laplace noise at epsilon 1."""
    claim = ApproxDP(1, neighbors=neighbors)

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        table = np.array(rows)
        targets = table[:, -outputs:]
        records = LabelledRows(
            table[:, :-outputs].astype(np.int16), targets if outputs > 1 else targets[:, 0]
        )
        most = 1 if neighbors == ADDED else MOST_RECORDS
        oracle = CentralOracle(records, privacy=claim, dice=dice, count_share=0, most_records=most)
        return str(oracle.ask(query())[0].means.round(6).tolist()), oracle.rounds

    # The bounds of the queries themselves are tested against all pairs of records.
    moves = query().added_l1 if neighbors == ADDED else query().l1
    rules = {**RULES, "discrete_laplace": moved_by(moves)}
    return AuditCase(
        name, fit, universe, n, claim, ordered=False, rules=rules, part_of=learners, required=required
    )


def _masses() -> StatisticalQuery:
    """Ask for masses, of one column with three cells and one with two."""
    tables = [np.array([[1], [0], [-1]]), np.array([[1], [0]])]
    return mass_query(Tables(tables, 0, 1, 1.0, 1))


def _labels(order: int = 1) -> StatisticalQuery:
    """Ask for the sums of labels times rows."""
    rows = signed_tables(1, 0, -1, order=order)
    return residual_query(rows, lambda records: _HALF.targets(records.y), n_outputs=1, reach=2048, bits=1)


def _rare_labels() -> StatisticalQuery:
    """Ask for the sums of labels times rows, beyond those of the share 1/4 of the second label."""
    loss = LogisticLoss(Fraction(1, 2), 0.25)
    return residual_query(
        signed_tables(1, 0, -1, order=1),
        lambda records: loss.targets(records.y),
        n_outputs=1,
        reach=loss.target_reach,
        bits=2,
    )


def _gradient(order: int = 1) -> StatisticalQuery:
    """Ask for the gradient of the logistic loss, of rows that are shortened by half."""
    rows = signed_tables(1, 0, -1, constant=1, order=order)
    margins = np.array([-1 << 14, 0, 1 << 14])[:, None]
    return residual_query(
        rows,
        lambda records: _HALF.residuals(margins[records.X[:, 0]], records.y),
        n_outputs=1,
        reach=2048,
        bits=2,
    )


def joint_rows(order: int = 1) -> Tables:
    """Return rows of a joint feature of two columns of two cells: 1 where the cells are equal, else -1."""
    cells = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    basis = JointBasis.of([np.array([-1.0, 1.0])] * 2, np.ones(2), np.eye(2), cells, size=3)
    values = basis.values(cells)
    product = int(np.abs(values.T @ [1, -1, -1, 1]).argmax())
    weights, means = (part[..., [product]] / values[0, product] for part in (basis.weights, basis.means))
    features = JointBasis(basis.kernels, weights, means).rounded(unit=1.0)
    return Tables([np.zeros((2, 0), dtype=np.int64)] * 2, 0, 1, 1.0, order, features)


def _joint_gradient(order: int = 1) -> StatisticalQuery:
    """Ask for the gradient of the logistic loss in the weight of a joint feature."""
    return residual_query(
        joint_rows(order),
        # The loss is that of margins of 4 times the feature where the first cell is 1, and else of 0.
        lambda block: _HALF.residuals(block.joint.astype(np.int64) * block.X[:, :1] << 14, block.y),
        n_outputs=1,
        reach=2048,
        bits=1,
    )


def _labels_of_three(order: int = 1) -> StatisticalQuery:
    """Ask for the gradient of the multinomial loss in the intercepts."""
    loss = SoftmaxLoss(3, order=order)
    return residual_query(
        Tables([], 1, 1, 1.0, order),
        lambda records: loss.residuals(np.repeat([[1 << 16, 0, 0]], len(records), axis=0), records.y),
        n_outputs=3,
        reach=loss.reach,
        bits=0,
    )


def _residuals(order: int = 1) -> StatisticalQuery:
    """Ask for the gradient of the clipped squared loss."""
    loss = SquaredLoss(centre=0, scale=STEPS // 2)
    return residual_query(
        signed_tables(1, 0, -1, order=order),
        lambda records: loss.targets(records.y),
        n_outputs=1,
        reach=loss.reach,
        bits=0,
    )


def counts_gradient(loss: PoissonLoss | None = None, order: int = 1) -> StatisticalQuery:
    """Ask for the gradient of the clipped Poisson loss, at expected counts of almost 0 and far above all."""
    own, margins = loss or PoissonLoss(mean=STEPS // 2, scale=STEPS // 2), np.array([-1 << 15, 0, 1 << 15])
    return residual_query(
        signed_tables(1, 0, 1, order=order),
        lambda records: own.residuals(margins[records.X[:, 0]][:, None], records.y),
        n_outputs=1,
        reach=PoissonLoss.reach,
        bits=0,
    )


def _moments() -> StatisticalQuery:
    """Ask for second moments of two columns."""
    tables = [np.array([[1], [0], [-1]])] * 2
    return moment_query(Tables(tables, 0, 1, 1.0))


def outputs_gradient(loss_reach: int | None = 2048, reach: int | None = None) -> StatisticalQuery:
    """Ask for the gradients of two labels in rows of their own, of residuals that are shortened together."""
    loss = OutputsLoss([_HALF, _HALF], reach=loss_reach)
    rows = [signed_tables(1, 0, -1), Tables([np.zeros((3, 0), dtype=np.int64)], 1, 1, 1.0)]

    def residuals(blocks: Sequence[Block]) -> Any:
        return loss.residuals(np.zeros((len(blocks[0]), 2), dtype=np.int64), blocks[0].y)

    return outputs_query(rows, residuals, [1, 1], reach=reach or loss.reach, bits=2)


def _target() -> StatisticalQuery:
    """Ask for the means of target and square."""
    return SquaredLoss(bits=0).base_queries()[0]


#: Cells of one column and one of two labels.
SIGNS = tuple((cell, label) for cell in range(3) for label in range(2))
#: Cells of one column and two labels of two.
OUTPUTS = tuple((cell, one, other) for cell in (0, 2) for one in range(2) for other in range(2))
#: Cells of two columns and one of two labels.
PAIRS = tuple((one, other, label) for one in range(2) for other in range(2) for label in range(2))
_TARGETS = tuple((cell, target) for cell in (0, 2) for target in (-STEPS, 0, STEPS))
_THREE = ((0,), (1,), (2,))
_MASSES = ((0, 0, 0), (1, 0, 0), (2, 1, 0))
_ALL = Required(3, 0.999)

CASES: tuple[AuditCase, ...] = (
    additive_case(
        "additive",
        AdditiveClassifier(epsilon=1, delta=0, domain=[Categories(["a"])], classes=[0, 1], random_state=0),
        1,
        (("a", 0), ("a", 1)),
        bits=COARSEST,
        required=Required(2, 0.57),
    ),
)

#: Each query, what is required of it, and of it for added records, of tables of two records and of one, with
#: the noise for the norm of one row; None for no case.
_QUERIES: tuple[tuple[str, Any, Any, tuple[str, ...], Required, Required | None], ...] = (
    ("masses", _masses, _MASSES, (_CLASSIFIER, _REGRESSOR), _ALL, _ALL),
    ("labels", _labels, SIGNS, (_CLASSIFIER,), Required(5, 0.999), _ALL),
    ("rare_labels", _rare_labels, SIGNS, (_CLASSIFIER,), Required(5, 0.999), _ALL),
    ("gradient", _gradient, SIGNS, (_CLASSIFIER,), Required(5, 0.999), _ALL),
    ("joint", _joint_gradient, PAIRS, (_CLASSIFIER,), _ALL, _ALL),
    ("outputs", outputs_gradient, OUTPUTS, (_CLASSIFIER,), Required(4, 0.57), None),
    ("three_labels", _labels_of_three, _THREE, (_CLASSIFIER,), Required(3, 0.499), _ALL),
    ("residuals", _residuals, _TARGETS, (_REGRESSOR,), _ALL, _ALL),
    ("counts", counts_gradient, _TARGETS, (_REGRESSOR,), _ALL, _ALL),
    ("target", _target, _TARGETS[:3], (_REGRESSOR,), Required(3, 0.499), _ALL),
)
CASES += tuple(
    additive_query_case(
        f"{added}additive_{name}",
        query,
        universe,
        *learners,
        n=2 if added or name == "labels" else 1,
        outputs=2 if name == "outputs" else 1,
        neighbors=ADDED if added else NEIGHBORS[0],
        required=required,
    )
    for added in ("", "added_")
    for name, query, universe, learners, *needed in _QUERIES
    if (required := needed[bool(added)]) is not None
)


_MIXED = [Floats(missing=True), Categories(["a", "b", "c"])]
_RECORDS = ((-2.0, "a", 0), (np.nan, "b", 1), (1e300, "c", 2), (3.0, "a", 1))
_NUMBERS = ((-2.0, "a", -1.0), (np.nan, "b", 0.3), (1e300, "c", 1.0), (3.0, "a", 0.5))
_SETTINGS: dict[str, dict[str, Any]] = {"laplace": {"delta": 0}, "gaussian": {"delta": 1e-6}}


def _far_noise(dice: Dice, sigma2: Fraction, size: int | None = None) -> Any:
    """Draw noise so large that answers are at their ends, most of them at the lower ones."""
    drawn: Any = dice.discrete_gaussian(sigma2, size=size)
    # With more at the upper ends, most fits would have no joint features.
    return np.where((drawn > 0) & (drawn * drawn > int(4 * sigma2)), _FAR, -_FAR)


def with_far_noise(fit: Fit) -> Fit:
    """Return a computation whose answers with Gaussian noise are the same for all records."""
    return with_draws(fit, discrete_gaussian=_far_noise)


def _one_noise(first: int, more: int = 0, moved: Sequence[int] | None = None) -> Callable[..., Any]:
    """Return draws with noise from one index on, in all places or `moved`; others are at their ends."""
    indices = count()

    def draw(dice: Any, ratio: Fraction, low: Any, high: Any, size: int) -> Any:
        far = np.where(np.arange(size) % 2 == 0, high, low)
        if not first <= next(indices) <= first + more:
            return far
        places = list(range(size) if moved is None else moved)
        ends = (np.broadcast_to(end, size)[places] for end in (low, high))
        far[places] = dice.discrete_laplace(ratio, *ends, size=len(places))
        return far

    return draw


def _one_query(name: str, query: int, share: Fraction, tightness: float) -> AuditCase:
    """Return a case of whole fits of numbers, of which one query has noise."""
    epsilon, target = 8, (-1.0, 1.0)
    model = AdditiveRegressor(
        epsilon=epsilon, delta=0, domain=[Categories(["a", "b"])], target_range=target, random_state=0
    )
    records = [(cell, number) for cell in ("a", "b") for number in target]
    whole = additive_case(name, model, 1, records, bits=replace(COARSEST, factors=0), bins=2)
    return with_one_noise(whole, share, tightness, first=query)


def _one_query_of_outputs(
    name: str, share: Fraction, tightness: float, *, cells: str = "a", **noise: Any
) -> AuditCase:
    """Return a case of whole fits of two labels, of which one query has noise."""
    model = AdditiveClassifier(
        epsilon=8, delta=0, domain=[Categories(list(cells))], classes=[0, 1], random_state=0
    )
    records = [(cell, (one, other)) for cell in cells for one in range(2) for other in range(2)]
    whole = additive_case(name, model, 1, records, bits=COARSEST, moves=4)
    return with_one_noise(whole, share, tightness, **noise)


def with_one_noise(whole: AuditCase, share: Fraction, tightness: float, **noise: Any) -> AuditCase:

    def fit(rows: Rows, dice: Dice) -> Any:
        return with_draws(whole.fit, discrete_laplace=_one_noise(**noise))(rows, dice)

    return replace(
        whole.with_fit(fit),
        claim=replace(whole.claim, epsilon=whole.claim.epsilon * share),
        verifies=(),
        part_of=whole.verifies,
        required=Required(2, tightness),
    )


#: Whole fits with noise in one query, which has a share of the budget.
CASES += tuple(
    _one_query(f"additive_numbers_{name}", query, Fraction(share, 100), tightness)
    for query, name, share, tightness in (
        (0, "target", 5, 0.49),
        (1, "masses", 10, 0.81),
        (2, "shapes", 32, 0.49),
        (4, "step", 49, 0.49),
    )
)


def _mean() -> AuditCase:
    """Return a case of whole fits of the mean of the target alone, which spend no delta."""
    model = AdditiveRegressor(domain=[Categories(["a"])], target_range=(-1, 1), random_state=0)
    universe, bits = [("a", number) for number in (-1.0, 0.5, 1.0)], replace(COARSEST, targets=1)
    whole = additive_case("additive_mean", model, 1, universe, bits=bits, steps=None, moves=6)
    return replace(whole, claim=replace(whole.claim, delta=Fraction(0)), required=Required(2, 0.66))


CASES += (_mean(),)

#: Balanced class weights are a function of the first query, for the shares of the labels; dicts are public.
CASES += (
    with_one_noise(
        additive_case(
            "additive_balanced",
            AdditiveClassifier(
                epsilon=8,
                delta=0,
                domain=[Categories(["a"])],
                class_weight="balanced",
                classes=[0, 1],
                random_state=0,
            ),
            1,
            (("a", 0), ("a", 1)),
            bits=COARSEST,
        ),
        Fraction(2, 100),
        0.999,
        first=0,
    ),
)

#: The same of two labels, whose histograms are two draws of one query. The noise in the shapes is in the
#: numbers of the first cell, that in the step in those of the constants: in a column of one cell, records
#: move no others.
CASES += (
    _one_query_of_outputs("additive_outputs_labels", Fraction(2, 100), 0.999, first=0, more=1),
    _one_query_of_outputs("additive_outputs_masses", Fraction(10, 100), 0.81, cells="ab", first=2),
    _one_query_of_outputs(
        "additive_outputs_shapes", Fraction(32, 100), 0.999, cells="ab", first=3, moved=(0, 1)
    ),
    _one_query_of_outputs("additive_outputs_step", Fraction(56, 100), 0.999, first=4, moved=(1, 3)),
)


def _added_fit(
    name: str,
    share: Fraction,
    tightness: float,
    *,
    cells: str = "a",
    numbers: bool = False,
    most_records: int = 1,
    **noise: Any,
) -> AuditCase:
    """Return a case of whole fits for added records, of which one query has noise."""
    settings: dict[str, Any] = {
        "epsilon": 8,
        "delta": 0,
        "domain": [Categories(list(cells))],
        "neighbors": ADDED,
        "random_state": 0,
    }
    targets: tuple[Any, ...] = (-1.0, 1.0) if numbers else (0, 1)
    model: Any = (
        AdditiveRegressor(target_range=targets, **settings)
        if numbers
        else AdditiveClassifier(classes=targets, **settings)
    )
    whole = additive_case(
        name,
        model,
        2,
        [(cell, target) for cell in cells for target in targets],
        bits=replace(COARSEST, factors=0) if numbers else COARSEST,
        bins=2,
        moves=4,
        most_records=most_records,
    )
    return with_one_noise(whole, share, tightness, **noise)


#: Whole fits for added records, with noise in one query, which has a share of the budget. The first draw is
#: the estimate of the number of records, and the rest of the budget is shared as in other fits.
_COUNT, _REST = COUNT_SHARE, (1 - COUNT_SHARE) / 100
CASES += (
    _added_fit("added_additive_fit_count", _COUNT, 0.999, most_records=2, first=0),
    _added_fit("added_additive_fit_labels", 2 * _REST, 0.999, first=1),
    _added_fit("added_additive_fit_masses", 10 * _REST, 0.999, cells="ab", first=2),
    _added_fit("added_additive_fit_step", 56 * _REST, 0.999, first=4),
    _added_fit(
        "added_additive_numbers_shapes", 32 * _REST, 0.999, cells="ab", numbers=True, first=3, moved=(0, 1)
    ),
    _added_fit("added_additive_numbers_step", 49 * _REST, 0.999, numbers=True, first=5),
)


def _replay(
    name: str, n_labels: int, outputs: int = 1, *, steps: int | None = 3, **settings: Any
) -> AuditCase:
    if not n_labels:
        regressor = AdditiveRegressor(domain=_MIXED, target_range=(-1, 1), random_state=0, **settings)
        case = additive_case(name, regressor, 4, _NUMBERS, steps=steps, bins=24, moves=1 << 22)
        return case.with_fit(with_far_noise(case.fit))
    records: list[Any] = [(*record[:-1], record[-1] % n_labels) for record in _RECORDS]
    classes: list[Any] = list(range(n_labels))
    if outputs > 1:
        records = [(*record[:-1], (record[-1], int(record[-1] == 1))) for record in records]
        classes = [classes, [0, 1]]
    classifier = AdditiveClassifier(domain=_MIXED, classes=classes, random_state=0, **settings)
    case = additive_case(name, classifier, 4, records, steps=steps, bins=24, moves=1 << 22)
    return case.with_fit(with_far_noise(case.fit))


#: Fits that are too large to enumerate; they are replayed on neighbours.
REPLAYS = (
    tuple(
        _replay(f"additive_{kind}_{n_labels or 'numbers'}", n_labels, **settings)
        for kind, settings in _SETTINGS.items()
        for n_labels in (2, 3, 0)
    )
    + tuple(
        # With a smaller epsilon, noise would hide all joint features but the first.
        _replay(
            f"additive_{kind}_{n_labels or 'numbers'}_joint",
            n_labels,
            interactions=True,
            epsilon=1000,
            **_SETTINGS[kind],
        )
        for kind, n_labels in (("gaussian", 2), ("gaussian", 0))
    )
    + (
        _replay("additive_linear", 3, steps=None, **_SETTINGS["gaussian"]),
        _replay("additive_linear_balanced", 3, steps=None, class_weight="balanced", **_SETTINGS["gaussian"]),
    )
)
#: Fits for added records.
REPLAYS += tuple(
    _replay(name, n_labels, neighbors=ADDED, **{**_SETTINGS[kind], **settings})
    for name, kind, n_labels, settings in (
        ("added_additive_laplace", "laplace", 2, {}),
        ("added_additive_laplace_numbers", "laplace", 0, {}),
        ("added_additive_gaussian", "gaussian", 2, {"interactions": True, "epsilon": 1000}),
        ("added_additive_gaussian_numbers", "gaussian", 0, {"interactions": True, "epsilon": 1000}),
        ("added_additive_linear", "gaussian", 3, {"steps": None, "class_weight": "balanced"}),
    )
)
#: Fits of two outputs, of three labels and of two.
REPLAYS += (
    _replay("additive_outputs_laplace", 3, outputs=2, **_SETTINGS["laplace"]),
    _replay(
        "additive_outputs_gaussian_joint",
        3,
        outputs=2,
        interactions=True,
        epsilon=1000,
        **_SETTINGS["gaussian"],
    ),
)
