"""Entries for the public registry of deployments of differential privacy, from a release and its guarantee,
with the fields and values of registry_schema.json, which states its source and date.
"""

import datetime
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from dplearn._version import __version__
from dplearn._writing import brief
from dplearn.display.described import (
    account_of,
    evidence_of,
    guaranteed,
    neighboring,
    parts_of,
    protected,
    settings_of,
)
from dplearn.privacy import ApproxDP, Guarantee, LedgerError, PrivacyLedger, attack_risk
from dplearn.privacy.guarantees import decimals, in_words

_BASIC, _LOSS = "deployment.basic", "deployment.privacy_loss"
_PREPROCESSING = "deployment.implementation.preprocessing_and_hyperparameter_tuning"
_MODEL, _ACCOUNTING = "deployment.deployment_model", "deployment.accounting"
_UNITS = {
    "groups": "all records of one group of the table, such as one person",
    "examples": "one record of the table",
    "labels": "the label of one record of the table",
}
_TYPES = {
    "date": "a date, YYYY-MM-DD",
    "integer": "an integer",
    "number": "a float",
    "number or text": "a float or a str that is not empty",
    "text": "a str that is not empty",
    "texts": "a list of str that are not empty, at least one",
}
#: Fields that follow from the release, and that nobody can replace.
_COMPUTED = frozenset(
    {
        "deployment.dp_variant.variant_name",
        f"{_LOSS}.privacy_parameters.epsilon",
        f"{_LOSS}.privacy_parameters.delta",
        f"{_LOSS}.privacy_parameters.rho",
        f"{_LOSS}.privacy_unit_details",
    }
)


@dataclass(frozen=True)
class RegistryEntry:
    """An entry for the public registry of deployments, without released values; made by `registry_entry`.

    Attributes
    ----------
    fields : mapping of str to object
        Public. The values by the paths of their fields, such as "deployment.basic.name".
    """

    fields: Mapping[str, Any]

    @property
    def nested(self) -> dict[str, Any]:
        """The entry as nested dicts, as the registry's tests read it."""
        found: dict[str, Any] = {}
        for path, value in self.fields.items():
            *parents, last = path.split(".")
            place = found
            for parent in parents:
                place = place.setdefault(parent, {})
            place[last] = value
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the entry to a file of YAML, to be proposed to the registry; an existing file is replaced.

        Parameters
        ----------
        path : str or path-like
            Its name has lower-case letters, digits and underscores, and ends with .yaml, as the registry
            demands.
        """
        if not re.fullmatch(r"[a-z0-9_]+\.yaml", Path(path).name):
            raise ValueError(
                "path must have a name of lower-case letters, digits and underscores that ends with .yaml,"
                f" got {Path(path).name!r}"
            )
        Path(path).write_text(f"{self}\n", encoding="utf-8")

    def __str__(self) -> str:
        return "\n".join(_lines(self.nested, ""))


def registry_entry(
    estimator: Any,
    *,
    name: str,
    data_curators: Sequence[str],
    intended_use: str,
    description: str,
    data_product_region: str,
    publication_date: str | datetime.date,
    registry_authors: Sequence[str],
    data_product_type: str = "Machine learning model",
    ledger: PrivacyLedger | None = None,
    details: Mapping[str, str] | None = None,
) -> RegistryEntry:
    """Return an entry for the public registry of deployments, filled from a release and its guarantee.

    The entry is for the Differential Privacy Deployments Registry,
    https://github.com/opendp/deployments-registry-data: save it in the directory `deployments` of a copy, and
    open a pull request. What the release shows is filled in; what only the publisher knows is a parameter.

    Parameters
    ----------
    estimator : object
        As for `privacy_card`.
    name : str
        The name of the product.
    data_curators : sequence of str
        Those who publish the product; at least one.
    intended_use, description, data_product_region : str
        The use of the product, a description, and the region of the data.
    publication_date : str or date
        As YYYY-MM-DD.
    registry_authors : sequence of str
        Those who make the entry; at least one.
    data_product_type : str, default="Machine learning model"
        One of the schema's, such as "Summary statistics" or "Synthetic data".
    ledger : PrivacyLedger, optional
        As for `privacy_card`.
    details : mapping of str to str, optional
        Further fields by their paths without "deployment.", such as "deployment_model.actors" or
        "privacy_loss.privacy_unit". They replace what is filled in, but not the guarantee.

    Returns
    -------
    RegistryEntry
        A draft. Its tier is the greatest for which all fields up to this tier are filled. For tier 2,
        `details` must add "deployment_model.release_type", "deployment_model.data_source_type" and
        "deployment_model.access_type"; `registry_schema` has the tier of each field.

    Raises
    ------
    NotFittedError, TypeError
        As for `privacy_card`.
    ValueError
        If nothing is guaranteed, the release can be repeated from a seed, or a value does not fit the schema.

    Examples
    --------
    >>> from dplearn import ExponentialMechanismClassifier
    >>> from dplearn.display import registry_entry
    >>> from dplearn.domains import IntegerRange
    >>> X, y = [[value % 100] for value in range(2000)], [value % 100 > 49 for value in range(2000)]
    >>> learner = ExponentialMechanismClassifier(domain=IntegerRange(0, 99), classes=[False, True])
    >>> entry = registry_entry(
    ...     learner.fit(X, y), name="Readmissions", data_curators=["A hospital"], intended_use="Research",
    ...     description="A rule that predicts readmissions.", data_product_region="Utopia",
    ...     publication_date="2026-11-26", registry_authors=["A. Person"],
    ... )
    >>> entry.fields["deployment.dp_variant.variant_name"], entry.fields["tier"]
    ('Pure DP', 1)
    >>> str(entry).splitlines()[0]
    'url_slug: "readmissions"'
    """
    guarantee, refusal = guaranteed(estimator, ())
    if guarantee is None:
        raise ValueError(f"estimator must have a guarantee, and it has none: {refusal}")
    if guarantee.reproducible:
        raise ValueError("estimator must be fitted without a seed (random_state=None) to be published")
    parts = [part for _, part in parts_of(estimator)]
    account = account_of(parts_of(estimator)) if ledger is None else ledger
    date = publication_date.isoformat() if isinstance(publication_date, datetime.date) else publication_date
    given = {
        "url_slug": re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_") or "entry",
        "status": "Draft",
        f"{_BASIC}.name": name,
        f"{_BASIC}.data_curators": _listed(data_curators),
        f"{_BASIC}.intended_use": intended_use,
        f"{_BASIC}.data_product_type": data_product_type,
        f"{_BASIC}.data_product_region": data_product_region,
        f"{_BASIC}.description": description,
        f"{_BASIC}.publication_date": date,
        **_of_guarantee(guarantee),
        f"{_MODEL}.model_name": _model_name(parts),
        **_of_ledger(account),
        "deployment.implementation.mechanisms": _mechanisms(parts),
        "deployment.administrative.registry_authors": _listed(registry_authors),
    }
    if details is not None and not isinstance(details, Mapping):
        raise TypeError(f"details must be None or a mapping from fields to texts, got {brief(details)}")
    for path, text in (details or {}).items():
        if f"deployment.{path}" in _COMPUTED:
            raise ValueError(f"details must not replace {path}, which follows from the guarantee")
        given[f"deployment.{path}"] = text
    _check(given | {"tier": 1})
    given["tier"] = _tier(given)
    return RegistryEntry({path: given[path] for path in registry_schema()["fields"] if path in given})


@cache
def registry_schema() -> Mapping[str, Any]:
    """Return the recorded schema of the registry: its source, and its fields.

    Returns
    -------
    mapping of str to object
        "source", "commit", "date" and "paper" say where it is from. "fields" maps the path of each field to
        a mapping: its "type", and, if it has them, its "tier", its allowed values ("choices") and "required".

    Examples
    --------
    >>> from dplearn.display import registry_schema
    >>> sorted(registry_schema())
    ['commit', 'date', 'fields', 'paper', 'source']
    """
    text = resources.files("dplearn.display").joinpath("registry_schema.json").read_text(encoding="utf-8")
    return json.loads(text)


def _of_guarantee(guarantee: Guarantee) -> dict[str, Any]:
    if isinstance(guarantee, ApproxDP):
        variant = "Approximate DP" if guarantee.delta else "Pure DP"
        numbers = {"epsilon": guarantee.epsilon} | ({"delta": guarantee.delta} if guarantee.delta else {})
    else:
        variant, numbers = "Zero-concentrated DP", {"rho": guarantee.rho}  # type: ignore[attr-defined]
    values, known, others = _sorted_assumptions(guarantee.assumes)
    if guarantee.protects == "labels" and not any(each.startswith("all features are") for each in known):
        known = ["all values of a record but its label", *known]
    return {
        "deployment.dp_variant.variant_name": variant,
        **_listing("deployment.dp_variant.data_domain", "All tables in which", values),
        **_listing("deployment.dp_variant.unprotected_quantities", "Not protected:", known),
        **_listing(_PREPROCESSING, "The guarantee assumes:", others),
        f"{_LOSS}.privacy_unit": _UNITS[guarantee.protects],
        f"{_LOSS}.privacy_unit_details": f"Neighbours: {neighboring(guarantee)}. Protected:"
        f" {protected(guarantee)}.",
        **{f"{_LOSS}.privacy_parameters.{each}": _number(x) for each, x in numbers.items()},
        f"{_LOSS}.privacy_parameters_details": " ".join(attack_risk(guarantee).sentences()),
    }


def _sorted_assumptions(assumes: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the assumptions on values, those that something is public, and all others."""
    values: list[str] = []
    known: list[str] = []
    others: list[str] = []
    for each in assumes:
        if re.match(r"(in .*, )?(values|labels|targets) are |each record has ", each):
            values.append(each)
        elif re.match(r"(the|all) .*\b(is|are) public\b", each):
            known.append(each)
        else:
            others.append(each)
    return values, known, others


def _listing(path: str, start: str, texts: Sequence[str]) -> dict[str, str]:
    """Return a field that lists texts; nothing if there is none."""
    return {path: f"{start} {'; '.join(texts)}."} if texts else {}


def _number(x: Fraction) -> float:
    """Return a float whose shortest decimal is x, or else just above x."""
    nearest = float(x)
    return nearest if Fraction(repr(nearest)) >= x else math.nextafter(nearest, math.inf)


def _model_name(parts: list[Any]) -> str:
    trusted = {getattr(part, "trust_model", "central") for part in parts if hasattr(part, "guarantee_")}
    return "Local" if trusted == {"local"} else "Central"


def _of_ledger(ledger: PrivacyLedger | None) -> dict[str, str]:
    """Return the costs of all releases that are charged to the ledger; nothing if there is none."""
    if ledger is None:
        return {}
    try:
        history, spent = ledger.history(), ledger.spent()
    except LedgerError:
        return {}
    return {
        f"{_ACCOUNTING}.composition": f"A privacy ledger refuses what exceeds the budget of"
        f" {in_words(ledger.budget)}. It has charged {len(history)} release(s), which cost {in_words(spent)}"
        f" together; of these numbers, {' and '.join(decimals(spent))} add up."
    }


def _mechanisms(parts: list[Any]) -> str:
    texts = []
    for part in parts:
        kind = type(part)
        if kind.__module__.partition(".")[0] != "dplearn":
            continue
        settings = ", ".join(f"{name}={value}" for name, value in settings_of(part).items())
        noise = getattr(part, "noise_", None)
        evidence = evidence_of(kind.__name__)
        cases = ", ".join(evidence.cases) if evidence is not None else ""
        texts.append(
            f"{kind.__name__}({settings})"
            + (f" with noise of the kind {noise!r}" if noise is not None else "")
            + (f"; audit cases of the class, of all its settings: {cases}" if cases else "")
        )
    return (
        f"dplearn {__version__}: {'; '.join(texts)}. Secret draws come from the operating system's entropy,"
        " and are made with integers and fractions, so that no rounding of floats affects the guarantee."
    )


def _listed(values: Any) -> Any:
    """Return a sequence of texts as a list; anything else as it is, for the check."""
    return list(values) if isinstance(values, (list, tuple)) else values


def _check(given: Mapping[str, Any]) -> None:
    """Raise ValueError unless all values fit the recorded schema."""
    fields = registry_schema()["fields"]
    for path, rule in fields.items():
        if rule.get("required") and path not in given:
            raise ValueError(f"{path} must be given")
    for path, value in given.items():
        short = path.removeprefix("deployment.")
        if path not in fields:
            raise ValueError(
                "details must have fields of the registry's schema, which registry_schema()['fields'] lists,"
                f" got {short!r}"
            )
        wanted, choices = fields[path]["type"], fields[path].get("choices")
        if not _fits(wanted, value):
            raise ValueError(f"{short.rpartition('.')[2]} must be {_TYPES[wanted]}, got {brief(value)}")
        if choices is not None and value not in choices:
            raise ValueError(f"{short} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def _fits(kind: str, value: Any) -> bool:
    is_text = isinstance(value, str) and bool(value.strip())
    if kind == "date":
        try:
            return is_text and datetime.date.fromisoformat(value).isoformat() == value
        except ValueError:
            return False
    if kind == "texts":
        return isinstance(value, list) and bool(value) and all(_fits("text", each) for each in value)
    if kind == "text":
        return is_text
    if kind == "integer":
        return type(value) is int
    return type(value) is float or (kind == "number or text" and is_text)


def _tier(given: Mapping[str, Any]) -> int:
    missing = [
        rule["tier"]
        for path, rule in registry_schema()["fields"].items()
        if rule.get("tier", 1) > 1 and path not in given
    ]
    return min(missing, default=4) - 1


def _lines(value: Any, indent: str) -> Iterator[str]:
    for key, part in value.items():
        if isinstance(part, dict):
            yield f"{indent}{key}:"
            yield from _lines(part, indent + "  ")
        elif isinstance(part, list):
            yield f"{indent}{key}:"
            yield from (f"{indent}  - {_scalar(each)}" for each in part)
        else:
            yield f"{indent}{key}: {_scalar(part)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        quoted = json.dumps(value, ensure_ascii=False)
        return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in quoted)
    mantissa, mark, exponent = repr(value).partition("e")
    # YAML reads a number with an exponent only if it has a point.
    return mantissa + (".0" if mark and "." not in mantissa else "") + mark + exponent
