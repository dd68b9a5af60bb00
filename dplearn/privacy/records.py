"""What is kept of a release: who, when, what was promised and what that cost.

>>> from dplearn.privacy.guarantees import ApproxDP
>>> record = new_record(1, "a histogram", ApproxDP(0.1), ApproxDP(0.1))
>>> ReleaseRecord.from_json(record.to_json()) == record
True
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from dplearn._version import __version__
from dplearn.privacy.guarantees import Guarantee

__all__ = ["ReleaseRecord", "new_record"]

_FORMAT = "dplearn.ReleaseRecord"
_JSON_VERSION = 1


@dataclass(frozen=True)
class ReleaseRecord:
    """One charge of a ledger.

    Attributes
    ----------
    number : int
        Its place in the ledger, from 1.
    time : datetime
        When it was charged, in UTC.
    estimator : str
        What was fitted, as the caller named it.
    guarantee : Guarantee
        What the release promises, as it was charged.
    cost : Guarantee
        What that costs, in the ledger's kind and for the ledger's neighbours.
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
        """Return the record as a JSON text, its numbers exact, for filing with a release."""
        return json.dumps(self.to_dict(), indent=2)

    def to_dict(self) -> dict[str, Any]:
        """Return what `to_json` writes."""
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
        """Return the record that `to_json` wrote.

        Raises
        ------
        ValueError
            If `text` is not such a record, or of a version this release does not know.
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


@lru_cache(maxsize=64)  # most records of a ledger promise the same
def _guarantee(text: str) -> Guarantee:
    return Guarantee.from_json(text)


def new_record(number: int, estimator: str, guarantee: Guarantee, cost: Guarantee) -> ReleaseRecord:
    """Return the record of a release that is charged now, by this version."""
    now = datetime.now(UTC).replace(microsecond=0)
    return ReleaseRecord(number, now, estimator, guarantee, cost, __version__)
