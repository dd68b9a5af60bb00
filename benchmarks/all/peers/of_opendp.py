"""OpenDP: contingency tables by its MST and AIM, whose keys are declared; neighbours add or remove a record.

Its guarantee is rho-zCDP, of which (epsilon, delta) follows by Proposition 12 of Canonne, Kamath and Steinke.
"""

import math

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


def released(frame, keys, method, epsilon, delta):
    """Return a frame of synthetic records; the last digits of rho are cut, since sums of shares round up."""
    rho = math.floor(rho_of(epsilon, delta) * 1e8) / 1e8
    loss = dp.loss_of(rho=rho) if keys else dp.loss_of(rho=rho, delta=delta)
    context = dp.Context.compositor(
        data=frame.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=loss, split_evenly_over=1
    )
    query = context.query().select(*frame.columns)
    table = query.contingency_table(keys=keys, algorithm=METHODS[method]()).release()
    return table.synthesize().drop_nulls()


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
