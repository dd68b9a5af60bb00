"""The records of a ledger, one for each release, stored exactly as JSON, and tables of them."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_FLOOR
from functools import lru_cache
from html import escape
from typing import Any

from dplearn._version import __version__
from dplearn.privacy.base import decimals
from dplearn.privacy.guarantees import Guarantee
from dplearn.privacy.privacy_filter import PrivacyFilter

__all__ = ["Entry", "ReleaseRecord", "as_html", "as_text", "new_record"]

_FORMAT = "dplearn.ReleaseRecord"
_JSON_VERSION = 1
_HEADINGS = ("", "time (UTC)", "release")


@dataclass(frozen=True)
class ReleaseRecord:
    """The record of one release charged to a ledger.

    Attributes
    ----------
    number : int
        The number of the release in the ledger, from 1.
    time : datetime
        The time of the charge, in UTC.
    estimator : str
        The name of the estimator or function, as given by the caller.
    guarantee : Guarantee
        The guarantee of the release, as charged.
    cost : Guarantee
        Its cost, in the kind of the ledger's budget and for the ledger's neighbours.
    version : str
        The version of dplearn.
    """

    number: int
    time: datetime
    estimator: str
    guarantee: Guarantee
    cost: Guarantee
    version: str

    def to_json(self) -> str:
        """Return the record as a JSON text with exact numbers, to store with a release."""
        return json.dumps(self.to_dict(), indent=2)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of `to_json` as a dict."""
        return {
            "format": _FORMAT,
            "version": _JSON_VERSION,
            "number": self.number,
            "time": self.time.isoformat(),
            "estimator": self.estimator,
            "guarantee": json.loads(self.guarantee.to_json()),
            "cost": json.loads(self.cost.to_json()),
            "dplearn": self.version,
        }

    @classmethod
    def from_json(cls, text: str) -> "ReleaseRecord":
        """Return the record from a text of `to_json`.

        Raises
        ------
        ValueError
            If `text` is not such a record, or has an unknown version.
        """
        record = json.loads(text)
        if not isinstance(record, dict) or record.get("format") != _FORMAT:
            raise ValueError(f"not a {_FORMAT} record")
        if record.get("version") != _JSON_VERSION or isinstance(record["version"], bool):
            raise ValueError(f"version must be {_JSON_VERSION}, got {record.get('version')!r}")
        try:
            return cls._from_dict(record)
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"not a {_FORMAT} record: {error}") from None

    @classmethod
    def _from_dict(cls, record: dict[str, Any]) -> "ReleaseRecord":
        number, estimator, version = record["number"], record["estimator"], record["dplearn"]
        if type(number) is not int or not isinstance(estimator, str) or not isinstance(version, str):
            raise TypeError("number must be an integer, estimator and dplearn strings")
        return cls(
            number,
            datetime.fromisoformat(record["time"]).astimezone(UTC),
            estimator,
            _guarantee(json.dumps(record["guarantee"])),
            _guarantee(json.dumps(record["cost"])),
            version,
        )


@dataclass(frozen=True)
class Entry:
    """The record of a release, and the total cost up to it."""

    record: ReleaseRecord
    spent: Guarantee


def new_record(number: int, estimator: str, guarantee: Guarantee, cost: Guarantee) -> ReleaseRecord:
    """Return the record of a release charged now, by this version."""
    now = datetime.now(UTC).replace(microsecond=0)
    return ReleaseRecord(number, now, estimator, guarantee, cost, __version__)


def as_text(rule: PrivacyFilter, entries: list[Entry]) -> str:
    """Return the table of a ledger as text."""
    rows = _rows(rule, entries)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [f"A privacy ledger of {rule.describe()}"]
    lines += [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join(lines)


def as_html(rule: PrivacyFilter, entries: list[Entry]) -> str:
    """Return the table of a ledger as HTML, with all text escaped."""
    head, *rows = _rows(rule, entries)
    caption = escape(f"A privacy ledger of {rule.describe()}")
    lines = [_html_row("th", head), *(_html_row("td", row) for row in rows)]
    return f"<table><caption>{caption}</caption>{''.join(lines)}</table>"


@lru_cache(maxsize=64)  # most records of a ledger have equal guarantees
def _guarantee(text: str) -> Guarantee:
    return Guarantee.from_json(text)


def _html_row(tag: str, cells: list[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _rows(rule: PrivacyFilter, entries: list[Entry]) -> list[list[str]]:
    """Return the headings, a row for each release, and the rows of the spent and the remaining budget."""
    spent = entries[-1].spent if entries else rule.nothing
    rows = [[*_HEADINGS, *decimals(rule.budget)]]
    for entry in entries:
        record = entry.record
        time = f"{record.time:%Y-%m-%d %H:%M:%S}"
        rows.append([str(record.number), time, _one_line(record.estimator), *_numbers(record.cost)])
    rows.append(["", "", "spent", *_numbers(spent)])
    rows.append(["", "", "remaining", *decimals(rule.left(spent), ROUND_FLOOR).values()])
    return rows


def _numbers(guarantee: Guarantee) -> list[str]:
    return list(decimals(guarantee).values())


def _one_line(text: str) -> str:
    """Return a name in one line, so that it cannot look like another row."""
    return text if text.isprintable() else repr(text)
