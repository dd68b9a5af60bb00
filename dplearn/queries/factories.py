"""Factories of oracles: those for users charge the ledger; a fit calls `oracle_for` after its charge."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from dplearn._validation import AUTO, check_choice, check_number
from dplearn.chance import PublicStream, dice_for
from dplearn.chance.dice import Dice
from dplearn.fit.relation import without_count
from dplearn.privacy import ApproxDP, PrivacyLedger, open_account
from dplearn.privacy.unknown_count import ADDED, COUNT_SHARE, MOST_RECORDS
from dplearn.queries.bounds import QUERY_MODELS
from dplearn.queries.population_oracle import PopulationOracle
from dplearn.queries.private_oracles import CentralOracle, LocalOracle

#: The assumptions of an oracle's guarantee about its queries.
ASKED = (
    "the number of records is public",
    "each query's value for a record is a function of that record alone, and never raises",
    "queries, their bounds and their shares depend on the records through answers alone",
)

population = PopulationOracle


def cost_of(trust_model: str, epsilon: Any, delta: Any, *, reproducible: bool) -> ApproxDP:
    """Check a learner's parameters, and return the greatest cost of its oracle; a local one has delta 0."""
    local_only = check_choice("trust_model", trust_model, QUERY_MODELS) == "local"
    budget = ApproxDP(check_number("epsilon", epsilon, above=0), delta, reproducible=reproducible)
    return replace(budget, delta=Fraction(0)) if local_only else budget


def check_reports(trust_model: str, n_samples: int, count: int, asked: str) -> None:
    """Raise an error if there are more queries, a noun for which is `asked`, than reports of records."""
    if trust_model == "local" and n_samples < count:
        raise ValueError(
            f"trust_model='local' needs a record for each of {count} {asked}, got n_samples={n_samples}"
        )


def oracle_for(
    kind: str,
    records: Any,
    *,
    privacy: ApproxDP,
    dice: Dice,
    stream: PublicStream,
    count_share: Fraction = Fraction(0),
    most_records: int = MOST_RECORDS,
) -> CentralOracle | LocalOracle:
    """Return the oracle of a learner, whose cost has been charged already.

    The kind is the source of noise: "laplace", "gaussian" or "local". The stream orders the records' reports.
    """
    if kind == "local":
        return LocalOracle(records, privacy=privacy, dice=dice, stream=stream)
    return CentralOracle(
        records, privacy=privacy, dice=dice, noise=kind, count_share=count_share, most_records=most_records
    )


def central(
    records: Any,
    *,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    noise: str = AUTO,
    neighbors: str = "replace_one",
    count_share: Any = COUNT_SHARE,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> CentralOracle:
    """Return an oracle that answers with noisy means over all records.

    Parameters
    ----------
    records : ndarray, sparse matrix, data frame or series of pandas or polars, or Records
        Private. The records to which queries apply their functions; `Examples` are rows and labels.
    epsilon : float, default=1.0
        Privacy budget of all answers together; positive. A float stands for its shortest decimal: 0.1 is
        1/10.
    delta : float, default=0.0
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n. Spent on Gaussian
        noise only.
    noise : {"auto", "laplace", "gaussian"}, default="auto"
        As for `CentralOracle`.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        "add_remove": the guarantee is for one added or removed record, and the number of records is private.
    count_share : number, default=1/10
        As for `CentralOracle`; not used with "replace_one".
    ledger : PrivacyLedger, optional
        The ledger that all answers are charged to, when the oracle is made.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the answers reproducible, for tests only;
        the guarantee states this.

    Returns
    -------
    CentralOracle
        Its `guarantee` is the charged cost.

    Raises
    ------
    TypeError, ValueError
        If a parameter is invalid.
    BudgetExceededError
        If the cost exceeds the ledger's remaining budget; nothing is spent.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> from dplearn.queries import MeanQuery, central
    >>> ages = np.random.default_rng(0).integers(20, 80, 10_000)
    >>> mean_age = MeanQuery(lambda ages: ages, low=0, high=120)
    >>> oracle = central(ages, epsilon=1, random_state=0)
    >>> answer = oracle.ask(mean_age, share=0.5)[0]  # half of the budget is left for other queries
    >>> round(answer.mean, 1), round(float(ages.mean()), 1)
    (49.5, 49.5)
    """
    cost = cost_of("central", epsilon, delta, reproducible=random_state is not None)
    assumes = without_count(ASKED) if neighbors == ADDED else ASKED
    privacy = replace(cost, neighbors=neighbors, assumes=assumes)
    charge = open_account(ledger, privacy, name="queries.central")
    dice = dice_for(random_state, "queries.central", repr(privacy), noise)
    oracle = CentralOracle(records, privacy=privacy, dice=dice, noise=noise, count_share=count_share)
    charge(privacy)
    return oracle


def local(
    records: Any,
    *,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    randomizer: str = "bit",
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> LocalOracle:
    """Return an oracle to which each record reports a randomised answer to one query.

    Parameters
    ----------
    records : ndarray, sparse matrix, data frame or series of pandas or polars, or Records
        Private. The records to which queries apply their functions, each query to some of them; `Examples`
        are rows and labels.
    epsilon : number, default=1.0
        The cost for each record.
    delta : number, default=0.0
        Validated and not spent, so that `local` takes the same arguments as `central`.
    randomizer : {"bit", "laplace"}, default="bit"
        As for `LocalOracle`.
    ledger : PrivacyLedger, optional
        The ledger that all answers are charged to, when the oracle is made.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the answers reproducible, for tests only;
        the guarantee states this.

    Returns
    -------
    LocalOracle
        Its `guarantee` is the charged cost.

    Raises
    ------
    TypeError, ValueError
        If a parameter is invalid.
    BudgetExceededError
        If the cost exceeds the ledger's remaining budget; nothing is spent.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> from dplearn.queries import MeanQuery, local
    >>> ages = np.random.default_rng(0).integers(20, 80, 10_000)
    >>> mean_age = MeanQuery(lambda ages: ages, low=0, high=120)
    >>> oracle = local(ages, epsilon=1, random_state=0)
    >>> answer = oracle.ask(mean_age)[0]
    >>> bool(abs(answer.mean - ages.mean()) < answer.tolerance(0.05))
    True
    """
    cost = cost_of("local", epsilon, delta, reproducible=random_state is not None)
    privacy = replace(cost, assumes=ASKED)
    charge = open_account(ledger, privacy, name="queries.local")
    dice = dice_for(random_state, "queries.local", repr(privacy), randomizer)
    stream = PublicStream.of(random_state, "queries.local")
    oracle = LocalOracle(records, privacy=privacy, dice=dice, stream=stream, randomizer=randomizer)
    charge(privacy)
    return oracle
