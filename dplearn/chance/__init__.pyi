"""What this room exports; `__init__.py` imports each name when it is asked for."""

from dplearn.chance.dice import Dice as Dice
from dplearn.chance.enumerating import EnumeratingDice as EnumeratingDice
from dplearn.chance.enumerating import enumerate_paths as enumerate_paths
from dplearn.chance.public import PublicStream as PublicStream
from dplearn.chance.public import public_seed as public_seed
from dplearn.chance.replay import Draw as Draw
from dplearn.chance.replay import ReplayDice as ReplayDice
from dplearn.chance.sources import SeededDice as SeededDice
from dplearn.chance.sources import SystemDice as SystemDice
from dplearn.chance.sources import dice_for as dice_for
