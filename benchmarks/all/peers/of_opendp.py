"""OpenDP: contingency tables by its MST and AIM, whose keys are declared; neighbours add or remove a record.

Records are drawn one by one (method="sample"). By default, mbi 1.1.0, which OpenDP 0.16.0 pins, rounds counts
instead. Columns that depend on the same column then rise together, which is in no released table: on CPSSW8
the correlation of region and wage becomes .75, where -.04 is true.

Its guarantee is rho-zCDP, of which (epsilon, delta) follows by Proposition 12 of Canonne, Kamath and Steinke.
"""

import math
from fractions import Fraction

import checking
import opendp.prelude as dp
import polars
from synthetic import Checks, rows, trained

__all__ = ["checked", "fitted", "rows"]

dp.enable_features("contrib")
METHODS = {"MST": dp.mbi.MST, "AIM": dp.mbi.AIM}


def rho_of(epsilon, delta):
    """Return the greatest rho whose zCDP implies (epsilon, delta)."""

    def least_delta(rho):
        orders = (1 + math.exp(step / 50) for step in range(-500, 500))
        logs = ((a - 1) * (a * rho - epsilon) + (a - 1) * math.log1p(-1 / a) - math.log(a) for a in orders)
        return math.exp(min(0.0, *logs))

    low, high = 0.0, epsilon + 1
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if least_delta(middle) <= delta else (low, middle)
    return low


def shares_fit(rho, n_selections):
    """Return whether MST accepts its own shares of rho: their sum, rounded up, must be at most the whole.

    Half of rho is for single columns, nine tenths of the rest for pairs, and the rest for choosing these, an
    equal share each. Where their sum is a bit greater, the release fails ("insufficient budget"):
    of random rho, about half at 8 columns, and all at 9 and at 17 (opendp 0.16.0).
    """

    def less(number):
        return math.nextafter(number, 0.0)

    rest = less(less(rho - 0.5 * rho))
    selection = less(less(rest - 0.9 * rest))
    total, share = 0.0, less(selection / n_selections)
    for _ in range(n_selections):
        exact = Fraction(total) + Fraction(share)
        total = float(exact)
        if total < exact:
            total = math.nextafter(total, math.inf)
    return total <= selection


def released(frame, keys, method, epsilon, delta):
    """Return a frame of synthetic records; of rho a millionth at most is left over."""
    whole = rho_of(epsilon, delta)
    tried = (whole * (1 - k * 1e-9) for k in range(1000))
    rho = next(rho for rho in tried if shares_fit(rho, frame.width - 1))
    loss = dp.loss_of(rho=rho) if keys else dp.loss_of(rho=rho, delta=delta)
    context = dp.Context.compositor(
        data=frame.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=loss, split_evenly_over=1
    )
    query = context.query().select(*frame.columns)
    table = query.contingency_table(keys=keys, algorithm=METHODS[method]()).release()
    return table.synthesize(method="sample").drop_nulls()


def synthesized(method, cells, sizes, epsilon, delta):
    names = [f"x{place}" for place in range(len(sizes))]
    frame = polars.DataFrame({name: cells[:, place].astype("int64") for place, name in enumerate(names)})
    keys = {name: list(range(size)) for name, size in zip(names, sizes, strict=True)}
    return released(frame, keys, method, epsilon, delta).select(names).to_numpy()


def fitted(task, learner, epsilon, rows, y):
    return trained(synthesized, task, learner, epsilon, rows)


def of_frame(frame, keys, epsilon):
    return released(polars.from_pandas(frame), keys, "MST", epsilon, 1e-6).to_pandas()


def drawn(size):
    """Return what is added to a count of 0."""
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    noise = space >> dp.m.then_gaussian(scale=10.0)
    return [noise(0) for _ in range(size)]


def checked(cell):
    return checking.checked(Checks(of_frame, drawn), cell)
