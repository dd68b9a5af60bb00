"""Privacy guarantees as frozen, exact values: approximate and zero-concentrated differential privacy."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from dplearn._validation import check_count, check_number
from dplearn.kernels.exact import exp_bounds, log_bounds
from dplearn.privacy.base import Guarantee, decimal
from dplearn.privacy.conversion import concentrated_epsilon, rounded_up

__all__ = ["ApproxDP", "Guarantee", "ZeroConcentratedDP", "delta_of", "epsilon_of", "rho_of"]

_GROWTH_DIGITS = 30


@dataclass(frozen=True, repr=False, init=False)
class ApproxDP(Guarantee):
    """The guarantee of (epsilon, delta)-differential privacy.

    For every two neighbouring data sets and every set of outcomes E,
    P[outcome in E] <= exp(epsilon) P'[outcome in E] + delta.

    Parameters
    ----------
    epsilon : int, float, str, Decimal or Fraction
        Nonnegative. A float stands for its shortest decimal, so 0.1 is exactly 1/10.
    delta : int, float, str, Decimal or Fraction, default=0
        At least 0 and below 1.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring data sets differ by one replaced record (their number n is public), or by one record
        added or removed.
    protects : {"groups", "examples", "labels"}, default="examples"
        Whether a record consists of all rows of one group, such as those of one person; or is a whole
        example; or is its label, while its features are public. Labels are replaced, and not added or
        removed: "labels" goes with "replace_one" only.
    assumes : iterable of str, default=()
        Statements that the guarantee takes as true and public. The caller can check each of them without
        access to the data.
    reproducible : bool, default=False
        True if the noise can be drawn again from a seed. The guarantee then holds only against an observer
        without the seed, and the release should not be published.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> guarantee = ApproxDP(0.1, assumes=("the set of labels",))
    >>> guarantee.epsilon, guarantee.neighbors, guarantee.protects
    (Fraction(1, 10), 'replace_one', 'examples')
    >>> guarantee.implies(ApproxDP(1, assumes=("the set of labels", "every value is finite")))
    True
    >>> guarantee.for_group(10).epsilon, guarantee.to_zcdp().rho
    (Fraction(1, 1), Fraction(1, 200))
    """

    epsilon: Fraction
    delta: Fraction

    _numbers = ("epsilon", "delta")

    def __init__(
        self,
        epsilon: Any,
        delta: Any = 0,
        neighbors: str = "replace_one",
        protects: str = "examples",
        assumes: Iterable[str] = (),
        reproducible: bool = False,
    ):
        numbers = {
            "epsilon": check_number("epsilon", epsilon, low=0),
            "delta": check_number("delta", delta, low=0, below=1),
        }
        self._set_fields(numbers, neighbors, protects, assumes, reproducible)

    def _implies_after(self, steps: int, other: Guarantee) -> bool:
        return other._follows_from_approx(*self._after_steps(steps))

    def _follows_from_approx(self, epsilon: Fraction, delta: Fraction) -> bool:
        return epsilon <= self.epsilon and delta <= self.delta

    def _follows_from_zcdp(self, rho: Fraction) -> bool:
        return not rho or (self.delta > 0 and concentrated_epsilon(rho, self.delta) <= self.epsilon)

    def for_group(self, k: int) -> "ApproxDP":
        """Return the guarantee for a person who owns `k` of the records.

        At distance k the epsilon is k epsilon, and the delta is delta times the sum of exp(i epsilon) over
        i < k, rounded up to 20 digits.

        Parameters
        ----------
        k : int
            At least 1.

        Raises
        ------
        ValueError
            If delta would be 1 or more: this guarantees nothing.
        """
        k = check_count("k", k, low=1)
        epsilon, delta = self._after_steps(k)
        if delta >= 1:
            raise ValueError(f"for a group of {k} records delta would reach 1: nothing is guaranteed")
        return replace(self, epsilon=epsilon, delta=delta)

    def _after_steps(self, k: int) -> tuple[Fraction, Fraction]:
        """Return epsilon and delta between data sets at distance k in the neighbour relation."""
        if k == 1 or not self.delta:
            return k * self.epsilon, self.delta
        # The sum is at least k, and at least its last term: in both cases below, delta reaches 1.
        if self.delta * k >= 1 or (k - 1) * self.epsilon >= -log_bounds(self.delta)[0]:
            return k * self.epsilon, Fraction(1)
        return k * self.epsilon, rounded_up(self.delta * _growth(k, self.epsilon), digits=20)

    def to_zcdp(self) -> "ZeroConcentratedDP":
        """Return the zero-concentrated guarantee that pure differential privacy implies: rho = epsilon^2 / 2.

        Raises
        ------
        ValueError
            If delta is not 0: the Renyi divergences may then be infinite.
        """
        if self.delta:
            raise ValueError(f"delta must be 0 for a zero-concentrated guarantee, got {float(self.delta)!r}")
        return ZeroConcentratedDP(
            self.epsilon**2 / 2, self.neighbors, self.protects, self.assumes, self.reproducible
        )

    def sentence(self) -> str:
        """Return the guarantee as an English sentence."""
        slack = f", up to an additive {decimal(self.delta)}" if self.delta else ""
        return (
            f"{self._change()} changes the probability of any set of published outcomes by at most a factor"
            f" of exp({decimal(self.epsilon)}){slack}."
        )


@dataclass(frozen=True, repr=False, init=False)
class ZeroConcentratedDP(Guarantee):
    """The guarantee of rho-zero-concentrated differential privacy.

    For every two neighbouring data sets and every order a > 1, the Renyi divergence of order a between the
    two output distributions is at most rho a.

    Parameters
    ----------
    rho : int, float, str, Decimal or Fraction
        Nonnegative. A float stands for its shortest decimal.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring data sets differ by one replaced record (their number n is public), or by one record
        added or removed.
    protects : {"groups", "examples", "labels"}, default="examples"
        Whether a record consists of all rows of one group, such as those of one person; or is a whole
        example; or is its label, while its features are public. Labels are replaced, and not added or
        removed: "labels" goes with "replace_one" only.
    assumes : iterable of str, default=()
        Statements that the guarantee takes as true and public. The caller can check each of them without
        access to the data.
    reproducible : bool, default=False
        True if the noise can be drawn again from a seed. The guarantee then holds only against an observer
        without the seed, and the release should not be published.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Examples
    --------
    >>> from dplearn.privacy import ZeroConcentratedDP
    >>> float(ZeroConcentratedDP(0.005).to_approx(delta=1e-6).epsilon)
    0.429941468837
    """

    rho: Fraction

    _numbers = ("rho",)

    def __init__(
        self,
        rho: Any,
        neighbors: str = "replace_one",
        protects: str = "examples",
        assumes: Iterable[str] = (),
        reproducible: bool = False,
    ):
        self._set_fields({"rho": check_number("rho", rho, low=0)}, neighbors, protects, assumes, reproducible)

    def _implies_after(self, steps: int, other: Guarantee) -> bool:
        return other._follows_from_zcdp(steps**2 * self.rho)

    def _follows_from_approx(self, epsilon: Fraction, delta: Fraction) -> bool:
        return not delta and epsilon**2 / 2 <= self.rho

    def _follows_from_zcdp(self, rho: Fraction) -> bool:
        return rho <= self.rho

    def for_group(self, k: int) -> "ZeroConcentratedDP":
        """Return the guarantee for a person who owns `k` of the records: k^2 rho.

        Parameters
        ----------
        k : int
            At least 1.

        Notes
        -----
        **Source.** Bun and Steinke (2016), Proposition 1.9.
        """
        return replace(self, rho=check_count("k", k, low=1) ** 2 * self.rho)

    def to_approx(self, delta: Any) -> ApproxDP:
        """Return the approximate guarantee at `delta`, with the least epsilon, rounded up to 12 digits.

        Parameters
        ----------
        delta : int, float, str, Decimal or Fraction
            Above 0 and below 1; 0 is allowed if rho is 0.

        Notes
        -----
        **Source.** Canonne, Kamath and Steinke (2020), Proposition 12, at its best order; see
        `dplearn.privacy.conversion`.
        """
        bound = check_number("delta", delta, low=0, below=1)
        if self.rho and not bound:
            raise ValueError(f"delta must be above 0 unless rho is 0, got {delta!r}")
        epsilon = concentrated_epsilon(self.rho, bound)
        return ApproxDP(epsilon, bound, self.neighbors, self.protects, self.assumes, self.reproducible)

    def sentence(self) -> str:
        """Return the guarantee as an English sentence."""
        return (
            f"{self._change()} changes the distribution of the published outcome by a Renyi divergence of at"
            f" most {decimal(self.rho)} times the order."
        )


def epsilon_of(privacy: Any) -> Fraction:
    """Return the epsilon of an ApproxDP; raise ValueError unless it is positive."""
    return check_number("epsilon", _checked(privacy, ApproxDP).epsilon, above=0)


def delta_of(privacy: Any) -> Fraction:
    """Return the delta of an ApproxDP; raise ValueError unless it is positive."""
    return check_number("delta", _checked(privacy, ApproxDP).delta, above=0)


def rho_of(privacy: Any) -> Fraction:
    """Return the rho of a ZeroConcentratedDP; raise ValueError unless it is positive."""
    return check_number("rho", _checked(privacy, ZeroConcentratedDP).rho, above=0)


def _checked(privacy: Any, kind: type) -> Any:
    """Return `privacy` if it is an instance of `kind`; else raise TypeError."""
    if not isinstance(privacy, kind):
        raise TypeError(f"privacy must be of type {kind.__name__}, got {privacy!r}")
    return privacy


def _growth(k: int, epsilon: Fraction) -> Fraction:
    """Return an upper bound on the sum of exp(i epsilon) over i < k, correct to more than 20 digits."""
    if not epsilon:
        return Fraction(k)
    digits = 2 * _GROWTH_DIGITS + k.bit_length()
    # (exp(k e) - 1) / (exp(e) - 1) increases with e. A tiny e is increased, by at most 10**-30 in k e, so
    # that exp(e) - 1 keeps its digits.
    raised = max(epsilon, Fraction(1, k * 10**_GROWTH_DIGITS))
    return (exp_bounds(k * raised, digits)[1] - 1) / (exp_bounds(raised, digits)[0] - 1)


Guarantee._kinds = MappingProxyType(
    {"dplearn.ApproxDP": ApproxDP, "dplearn.ZeroConcentratedDP": ZeroConcentratedDP}
)
