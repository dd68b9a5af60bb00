"""Answer accounting questions with OpenDP; `accounting_oracles.py` calls this in its environment.

Standard input holds a JSON list of questions, each a list of a name and numbers; the answers are printed.
"""

import json
import sys

import opendp.prelude as dp

dp.enable_features("contrib", "honest-but-curious")
INTEGERS = dp.vector_domain(dp.atom_domain(T=int))


def gaussian(sigma):
    return dp.m.make_gaussian(INTEGERS, dp.l2_distance(T=int), scale=sigma)


def laplace(scale):
    return dp.m.make_laplace(INTEGERS, dp.l1_distance(T=int), scale=scale)


def noisy_max(scale, measure):
    return dp.m.make_noisy_max(INTEGERS, dp.linf_distance(T=int), measure, scale=scale)


def of_rho(rho, delta):
    """Epsilon of zero-concentrated privacy: of a measurement whose map is the given rho."""
    given = dp.m.make_user_measurement(
        INTEGERS, dp.l2_distance(T=int), dp.zero_concentrated_divergence(), lambda x: x, lambda _: rho
    )
    return dp.c.make_zCDP_to_approxDP(given).map(1).epsilon(delta)


def of_epsilon(epsilon):
    """A pure measurement whose map is the given epsilon."""
    return dp.m.make_user_measurement(
        INTEGERS, dp.l1_distance(T=int), dp.max_divergence(), lambda x: x, lambda _: epsilon
    )


def sampled(epsilon, m, n):
    """Epsilon after a sample of m of n records without replacement."""
    rows = dp.vector_domain(dp.atom_domain(bounds=(0, 1)), size=m), dp.symmetric_distance()
    inner = rows >> dp.t.then_sum() >> dp.m.then_laplace(scale=1 / epsilon)
    return dp.c.make_population_amplification(inner, n).map(2)


ANSWERS = {
    "gaussian rho": lambda sigma, moved: gaussian(sigma).map(int(moved)),
    "gaussian epsilon": lambda sigma, k, delta: dp.c.make_fix_delta(
        dp.c.make_zCDP_to_approxDP(dp.c.make_composition([gaussian(sigma)] * int(k))), delta
    ).map(1)[0],
    "laplace epsilon": lambda scale, moved: laplace(scale).map(int(moved)),
    "composed epsilon": lambda epsilon, k: dp.c.make_composition([of_epsilon(epsilon)] * int(k)).map(1),
    "pure to rho": lambda epsilon: dp.c.make_pureDP_to_zCDP(of_epsilon(epsilon)).map(1),
    "rho to epsilon": of_rho,
    "selection rho": lambda scale: noisy_max(scale, dp.zero_concentrated_divergence()).map(1),
    "selection epsilon": lambda scale: noisy_max(scale, dp.max_divergence()).map(1),
    "sampled epsilon": sampled,
}


if __name__ == "__main__":
    print(json.dumps([ANSWERS[name](*numbers) for name, *numbers in json.load(sys.stdin)]))
