"""The page on the five papers has every numbered statement, and names only what exists."""

import csv
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

from dplearn.audit.cases import CASES
from dplearn.concepts import CONCEPT_CLASSES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "theory" / "papers.md"
KINDS = ("Algorithm", "Corollary", "Definition", "Example", "Lemma", "Observation", "Proposition", "Remark")
KINDS = {each[0]: each for each in (*KINDS, "Theorem")} | {"K": "Claim"}
#: The numbered statements of each paper, by the initials above, in the order of the paper.
STATEMENTS = {
    "Kasiviswanathan et al. (2011)": (
        "D2.1 K2.2 T2.3 D2.4 D2.5 D3.1 D3.2 L3.3 T3.4 D3.5 C3.6 L4.1 L4.2 K4.3 T4.4 L4.5 L4.6 D5.1 D5.2 D5.3"
        " D5.4 D5.5 L5.6 T5.7 L5.8 K5.9 K5.10 D5.11 D5.12 D5.13 T5.14 C5.15 T5.16 C5.17 P5.18 TA.1 TA.2 LA.3"
    ),
    "Feldman and Xiao (2014)": "T1 T2 T3 D4 D5 T6 T7 T8 L9 L10 C11 T12 D13 D14 T15 L16 K17",
    "Bun, Nissim, Stemmer and Vadhan (2015)": (
        "D1.1 T1.2 T1.3 T1.4 T1.5 T1.6 T1.7 T1.8 T1.9 T2.1 L2.2 D3.1 T3.2 L3.3 T3.4 P3.5 L3.6 L3.7 L3.8 O3.9"
        " O3.10 L3.11 K3.12 L3.13 D4.1 D4.2 D4.3 D4.4 D4.5 T4.6 L4.7 T4.8 T4.9 T4.10 L4.11 L4.12 D5.1 D5.2"
        " D5.3 D5.4 T5.5 T5.6 L5.7 L5.8 L5.9 D6.1 T6.2 D6.3 T6.4 R6.5 L6.6 T6.7 L6.8 T7.1 T7.2 R7.3 K7.4"
        " DB.1 RB.2 LB.3 LB.4"
    ),
    "Bun, Nissim and Stemmer (2016)": (
        "T1.1 D2.1 D2.2 D2.3 D2.4 D2.5 D2.6 T2.7 T2.8 D2.9 D2.10 T2.11 C2.12 D2.13 D2.14 D2.15 D2.17 T2.18"
        " T2.19 P2.20 P2.21 T2.22 T2.23 T2.24 L2.25 A1 T3.1 O3.2 C3.3 C3.4 E3.5 L3.6 L3.7 A2 P3.8 C3.9 C3.10"
        " P3.11 A3 T3.12 A4 T3.13 A5 D4.1 D4.2 T4.3 R4.4 L4.5 C4.6 T4.7 R4.8 P4.9 C4.10 P4.11 T5.1 R5.2 L5.3"
        " T5.4"
    ),
    "Bassily, Thakkar and Thakurta (2018)": (
        "T1.1 T1.2 D2.1 D2.2 D2.3 L2.4 D2.5 L2.6 A1 T2.7 T2.8 D3.1 T3.2 L3.3 L3.4 T3.5 A2 A3 T3.6 L3.7 L3.8"
        " C3.9 A4 C3.10 T3.11 C4.1 L4.2 R1 T4.3 T4.4 A5 K4.5 T4.6 T4.7 D5.1 D5.2 D5.3 A6 A7 A8 T5.4 D5.5 T5.6"
        " D5.7 L5.8 D5.9 C5.10 D5.11 D5.12 L5.13 T5.14 T2"
    ),
}
UNNUMBERED = {"Appendix C", "Section 1.2", "Section 3.1", "Section 3.3.3", "Section 4.1"}


FILES = ("kasiviswanathan_2011", "feldman_2014", "bun_2015", "bun_2016", "bassily_2018")


@cache
def tables():
    """The rows of each paper: the statement, what it says, and where it runs."""
    found = {}
    for title, name in zip(STATEMENTS, FILES, strict=True):
        with (PAGE.parents[1] / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            found[title] = list(csv.reader(file))[1:]
    return found


def names_of(cell):
    """The names in backticks of a cell."""
    return re.findall(r"`([^`]+)`", cell)


def is_left_out(cell):
    return cell.startswith("*Not here")


def points_at_a_row(paper, cell):
    """Whether a cell refers to other rows of its table, as a restatement does."""
    named = re.findall(rf"(?:{'|'.join(KINDS.values())}) [A-Z]?\.?[\d.]*\d", cell)
    return bool(named) and set(named) <= {row[0] for row in tables()[paper]}


@pytest.mark.parametrize("paper", STATEMENTS)
def test_every_numbered_statement_has_a_row_that_says_where_it_runs_or_why_not(paper):
    numbered = [row for row in tables()[paper] if row[0] not in UNNUMBERED]
    assert [row[0] for row in numbered] == [
        f"{KINDS[each[0]]} {each[1:]}" for each in STATEMENTS[paper].split()
    ]
    for statement, says, here in tables()[paper]:
        assert len(says.split()) >= 2, statement
        assert len(here.split()) >= 5 if is_left_out(here) else here, statement
        runs = any(name.startswith("tests/") for name in names_of(here))
        assert runs if is_left_out(here) else names_of(here) or points_at_a_row(paper, here), statement
    left_out = sum(is_left_out(row[2]) for row in numbered)
    line = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if f"[{paper}](#" in line)
    counts = [int(count) for count in re.findall(r"\| (\d+) ", line)]
    assert counts == [len(numbered), len(numbered) - left_out, left_out]


def test_there_is_a_table_for_each_paper_and_no_other():
    text = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == list(STATEMENTS)
    assert re.findall(r"tables/(\w+)\.csv", text) == list(FILES)
    assert sum(len(each.split()) for each in STATEMENTS.values()) == 226


def stands_for_something(name):
    """Whether there is what a name in the last column of a table stands for."""
    if name.startswith("dplearn."):
        return found(name) is not None
    if name.startswith("tests/"):
        path, _, function = name.partition("::")
        return (ROOT / path).is_file() and (not function or function in functions(path))
    if name.startswith("concept_class="):
        return name.partition("=")[2].strip('"') in CONCEPT_CLASSES
    return name in SETTINGS if "=" in name else name in CASES or name in PARAMETERS


def test_each_name_in_the_last_column_exists():
    assert not stands_for_something("tests/docs/test_papers.py::test_nothing")
    names = {name for rows in tables().values() for row in rows for name in names_of(row[2])}
    assert [name for name in sorted(names) if not stands_for_something(name)] == []


#: Words in backticks that are neither code nor cases: parameters that are named beside their function.
PARAMETERS = {"alpha", "beta", "gamma", "neighbors", "quality", "sensitivity"}
SETTINGS = {"rooted=True"}


def found(name):
    """What a dotted name stands for."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            there = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            there = getattr(there, part, None)
        return there
    return None


@cache
def functions(path):
    """The test functions of a file."""
    return set(re.findall(r"^def (\w+)", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE))
