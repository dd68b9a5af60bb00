"""The best of all private rules on small universes, by linear programs: tests compare bounds with it."""

import math
from itertools import combinations_with_replacement

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

__all__ = ["best_rule", "tables_of"]


def tables_of(universe, n):
    """Return all tables of n records in any order, as sorted tuples."""
    return list(combinations_with_replacement(range(universe), n))


def best_rule(tables, universe, n_outcomes, payoffs, epsilon, delta=0.0):
    """Return the greatest value, over all (epsilon, delta)-private rules, of the least of several payoffs.

    Each payoff is a list of (table, outcome, value); it pays the sum of value times the outcome's
    probability. Neighbours replace one record. Of rules that read a table as a multiset none is lost: the
    mean of a rule over all orders is private too, and pays as much.
    """
    place = {table: i for i, table in enumerate(tables)}
    pairs = sorted(
        {
            (i, place[tuple(sorted((*table[:at], record, *table[at + 1 :])))])
            for table, i in place.items()
            for at in range(len(table))
            for record in range(universe)
        }
    )
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    chances = len(tables) * n_outcomes
    slacks = len(pairs) * n_outcomes if delta else 0
    size = chances + slacks + 1
    rows, columns, values, right = [], [], [], []

    def add(terms, bound):
        for column, value in terms:
            rows.append(len(right))
            columns.append(column)
            values.append(value)
        right.append(bound)

    for number, (one, other) in enumerate(pairs):
        excess = [chances + number * n_outcomes + h for h in range(n_outcomes)] if delta else []
        for h in range(n_outcomes):
            terms = [(one * n_outcomes + h, 1.0), (other * n_outcomes + h, -math.exp(epsilon))]
            add([*terms, *([(excess[h], -1.0)] if delta else [])], 0.0)
        if delta:
            add([(column, 1.0) for column in excess], delta)
    for payoff in payoffs:
        paid = [(place[tuple(sorted(table))] * n_outcomes + h, -value) for table, h, value in payoff]
        add([*paid, (size - 1, 1.0)], 0.0)
    sums = coo_array(
        (np.ones(chances), (np.repeat(np.arange(len(tables)), n_outcomes), np.arange(chances))),
        shape=(len(tables), size),
    )
    solved = linprog(
        -np.eye(1, size, size - 1)[0],
        A_ub=coo_array((values, (rows, columns)), shape=(len(right), size)).tocsr(),
        b_ub=right,
        A_eq=sums.tocsr(),
        b_eq=np.ones(len(tables)),
        bounds=[*[(0, None)] * (size - 1), (None, None)],
    )
    assert solved.status == 0
    return -solved.fun
