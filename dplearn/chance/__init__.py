"""Sources of randomness: the protocol `Dice`, its four implementations, and a stream for public choices.

A mechanism draws from the `dice` that it is given, and must not depend on their class. `SystemDice` draws
from the operating system's entropy, `SeededDice` draws reproducibly for tests, `EnumeratingDice` enumerates
all outcomes with their exact probabilities, and `ReplayDice` records one run and replays it on a neighbour.
Public choices are drawn from a `PublicStream`.
"""

from dplearn.chance.dice import Dice
from dplearn.chance.enumerating import EnumeratingDice, enumerate_paths
from dplearn.chance.public import PublicStream, public_seed
from dplearn.chance.replay import Draw, ReplayDice
from dplearn.chance.sources import SeededDice, SystemDice, dice_for

__all__ = [
    "Dice",
    "Draw",
    "EnumeratingDice",
    "PublicStream",
    "ReplayDice",
    "SeededDice",
    "SystemDice",
    "dice_for",
    "enumerate_paths",
    "public_seed",
]
