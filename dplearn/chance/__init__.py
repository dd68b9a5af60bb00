"""Sources of randomness: the protocol `Dice`, its four implementations, and a stream for public choices.

A mechanism draws from the `dice` that it is given, and must not depend on their class: `SystemDice` use the
operating system's entropy, `SeededDice` are reproducible, for tests, `EnumeratingDice` enumerate all outcomes
with exact probabilities, and `ReplayDice` replay a run on a neighbour. Public choices have a `PublicStream`.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
