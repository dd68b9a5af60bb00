"""Open an oracle over records of one's own, and charge for all that it will ever answer.

>>> import numpy as np
>>> from dplearn.queries.query import MeanQuery
>>> ages = np.random.default_rng(0).integers(20, 80, 10_000)
>>> oracle = central(ages, epsilon=1, random_state=0)
>>> mean_age = MeanQuery(lambda ages: ages, low=0, high=120)
>>> round(oracle.ask(mean_age, share=0.5)[0].mean, 1), round(float(ages.mean()), 1)
(49.5, 49.5)
>>> oracle = local(ages, epsilon=1, random_state=0)  # nobody need be trusted
>>> round(oracle.ask(mean_age)[0].mean)
49
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from dplearn._validation import AUTO, check_choice, check_number
from dplearn.chance import PublicStream, dice_for
from dplearn.chance.dice import Dice
from dplearn.privacy import ApproxDP, PrivacyLedger, open_account
from dplearn.queries.bounds import QUERY_MODELS
from dplearn.queries.central_oracle import CentralOracle
from dplearn.queries.local_oracle import LocalOracle
from dplearn.queries.population_oracle import PopulationOracle

__all__ = ["central", "check_reports", "cost_of", "local", "oracle_for", "population"]


#: What the guarantee of an oracle assumes of those who ask it.
ASKED = (
    "the number of records is public",
    "each query's value for a record is a function of that record alone, and never raises",
    "queries, their bounds and their shares depend on the records through answers alone",
)

population = PopulationOracle


def cost_of(trust_model: str, epsilon: Any, delta: Any, *, reproducible: bool) -> ApproxDP:
    """Return what a learner's oracle may spend at most: no delta where records report for themselves.

    Parameters
    ----------
    trust_model : {"central", "local"}
        As the learner has it; checked.
    epsilon, delta : number
        As the learner has them; checked.
    reproducible : bool
        Whether the noise can be drawn again.
    """
    local_only = check_choice("trust_model", trust_model, QUERY_MODELS) == "local"
    budget = ApproxDP(check_number("epsilon", epsilon, above=0), delta, reproducible=reproducible)
    return replace(budget, delta=Fraction(0)) if local_only else budget


def check_reports(trust_model: str, n_samples: int, count: int, asked: str) -> None:
    """Refuse to ask more queries than there are records to report, where each record reports once.

    Parameters
    ----------
    trust_model : {"central", "local"}
        As the learner has it.
    n_samples, count : int
        Numbers of records and of queries.
    asked : str
        What there are `count` of, for the message.
    """
    if trust_model == "local" and n_samples < count:
        raise ValueError(
            f"trust_model='local' needs a record for each of {count} {asked}, got n_samples={n_samples}"
        )


def oracle_for(
    kind: str, records: Any, *, privacy: ApproxDP, dice: Dice, stream: PublicStream
) -> CentralOracle | LocalOracle:
    """Return the oracle that a learner asks, for what was charged already.

    Parameters
    ----------
    kind : {"laplace", "gaussian", "local"}
        Where noise comes from; the first two are of a central oracle.
    records : Records
        Private. What the queries' functions take.
    privacy : ApproxDP
        What all answers may spend together.
    dice : Dice
        Source of chance.
    stream : PublicStream
        Of the order in which records report.
    """
    if kind == "local":
        return LocalOracle(records, privacy=privacy, dice=dice, stream=stream)
    return CentralOracle(records, privacy=privacy, dice=dice, noise=kind)


def central(
    records: Any,
    *,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    noise: str = AUTO,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> CentralOracle:
    """Return an oracle that answers by noisy means of all records.

    Parameters
    ----------
    records : ndarray, sparse matrix, data frame or series of pandas or polars, or Records
        Private. What the queries' functions take; `Examples` are rows and labels.
    epsilon, delta : number, default=1.0 and 0.0
        What all answers together may spend.
    noise : {"auto", "laplace", "gaussian"}, default="auto"
        As for `CentralOracle`.
    ledger : PrivacyLedger, optional
        Is charged for all of it, before anything is asked.
    random_state : None, int or numpy random generator, optional
        None: the operating system's entropy. Anything else repeats itself, and the guarantee says so.

    Returns
    -------
    CentralOracle
        Its `guarantee` says what was charged.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.
    BudgetExceededError
        If the ledger's budget does not hold it; nothing is spent.
    """
    cost = cost_of("central", epsilon, delta, reproducible=random_state is not None)
    privacy = replace(cost, assumes=ASKED)
    charge = open_account(ledger, privacy, name="queries.central")
    dice = dice_for(random_state, "queries.central", repr(privacy), noise)
    oracle = CentralOracle(records, privacy=privacy, dice=dice, noise=noise)
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
        Private. What the queries' functions take, each query's some of them; `Examples` are rows and labels.
    epsilon : number, default=1.0
        What each record may give away.
    delta : number, default=0.0
        As for `central`, which this can take the place of: reports have no use for it, and none is spent.
    randomizer : {"bit", "laplace"}, default="bit"
        As for `LocalOracle`.
    ledger : PrivacyLedger, optional
        Is charged for all of it, before anything is asked.
    random_state : None, int or numpy random generator, optional
        None: the operating system's entropy. Anything else repeats itself, and the guarantee says so.

    Returns
    -------
    LocalOracle
        Its `guarantee` says what was charged.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.
    BudgetExceededError
        If the ledger's budget does not hold it; nothing is spent.
    """
    cost = cost_of("local", epsilon, delta, reproducible=random_state is not None)
    privacy = replace(cost, assumes=ASKED)
    charge = open_account(ledger, privacy, name="queries.local")
    dice = dice_for(random_state, "queries.local", repr(privacy), randomizer)
    stream = PublicStream.of(random_state, "queries.local")
    oracle = LocalOracle(records, privacy=privacy, dice=dice, stream=stream, randomizer=randomizer)
    charge(privacy)
    return oracle
