"""Sources of randomness: the protocol `Dice`, its four implementations, and a stream for public choices.

A mechanism draws from the `dice` that it is given, and must not depend on their class. `SystemDice` draws
from the operating system's entropy, `SeededDice` draws reproducibly for tests, `EnumeratingDice` enumerates
all outcomes with their exact probabilities, and `ReplayDice` records one run and replays it on a neighbour.
Public choices are drawn from a `PublicStream`.
"""

from dplearn._lazy import exports_of_stub

__getattr__, __dir__, __all__ = exports_of_stub(__name__)
