"""Where randomness comes from: one protocol, four kinds of dice.

A mechanism asks its `dice` and never learns which kind it holds: `SystemDice` draws from the operating
system, `SeededDice` repeats itself for tests, `EnumeratingDice` walks every outcome with its exact
probability, `ReplayDice` records one run and replays it on a neighbour. Public choices come from a
`PublicStream`.
"""

from dplearn.chance.dice import Dice
from dplearn.chance.entropy import SystemDice
from dplearn.chance.enumerating import EnumeratingDice, enumerate_paths
from dplearn.chance.public import PublicStream, public_seed
from dplearn.chance.replay import Draw, ReplayDice
from dplearn.chance.seeded import SeededDice, dice_for

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
