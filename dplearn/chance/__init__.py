"""Where randomness comes from: one protocol, four kinds of dice.

A mechanism asks its `dice` and never learns which kind it holds: `SystemDice` draws from the operating
system, `SeededDice` repeats itself for tests, `TapeDice` walks every outcome with its exact probability,
`ReplayDice` records one run and replays it on a neighbour. Public choices come from a
`PublicStream`.
"""

from dplearn.chance.dice import Dice
from dplearn.chance.entropy import SystemDice
from dplearn.chance.public import PublicStream, public_seed
from dplearn.chance.replay import Draw, ReplayDice
from dplearn.chance.seeded import SeededDice, dice_for
from dplearn.chance.tape import TapeDice, walk

__all__ = [
    "Dice",
    "Draw",
    "PublicStream",
    "ReplayDice",
    "SeededDice",
    "SystemDice",
    "TapeDice",
    "dice_for",
    "public_seed",
    "walk",
]
