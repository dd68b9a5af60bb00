"""The privacy card: one page that explains the guarantee of a release to those who decide about it, in the
layouts of card.html and card.txt.
"""

import datetime
import os
import platform
import textwrap
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from string import Formatter
from typing import Any

import sklearn

from dplearn._version import __version__
from dplearn._writing import aligned
from dplearn.display.described import (
    Check,
    Evidence,
    Table,
    account_of,
    attacks,
    beliefs,
    checks_of,
    class_of_result,
    evidence_of,
    figures,
    guaranteed,
    in_groups,
    in_short,
    in_words,
    parts_of,
    settings_of,
    warnings_of,
)
from dplearn.display.shapes import shapes_of
from dplearn.model_selection import PrivateSearchCV
from dplearn.privacy import Guarantee, LedgerError, PrivacyLedger
from dplearn.privacy.guarantees import decimal, decimals
from dplearn.privacy.pipelines import PARTS

_PAGES, _TEXT = (".html", ".htm"), ".txt"
_LATEST = 100  # releases that are listed
_ENUMERATION = (
    "The real code was run over every possible outcome of its random draws, on every table of a small"
    " universe, and the output distributions of all neighbouring tables were compared. The exact epsilon"
    " found must never exceed the claimed epsilon. Each small universe has settings of its own, so its"
    " epsilon is not this model's. Anybody can repeat a case on an installed copy: python -m dplearn audit"
    " NAME."
)
_OF_ALL = (
    "This is the guarantee of all releases in the ledger together, also if each was chosen after the results"
    " of the earlier ones."
)
_BY_NAME = (
    "The releases are known by their names in the ledger. Of one that was made without dplearn and charged by"
    " hand, under whatever name, nothing is verified."
)
#: Texts by their headings in docs/limits.md.
LIMITS: Mapping[str, str] = {
    "Timing and memory": "The time and the memory that the computation takes depend on the data. People who"
    " must not see the data must not measure them.",
    "The number of records": "The number of records in the table is public; where groups are protected, the"
    " number of groups is, and that of their records is not.",
    "Several releases": "The costs of further releases about the same people add up. Only releases that are"
    " charged to the same ledger are accounted for together.",
    "What a model says about people in general": "If smoking causes cancer, a private model will find it, and"
    " that tells something about every smoker, in the table or not.",
    "Accuracy on private rows": "An accuracy that is measured on the private table is a release of its own,"
    " which this guarantee does not cover. Nor does it cover the choice of this model among several by such"
    " accuracies, as GridSearchCV makes it. Measure on public data, or use dplearn's private_score and"
    " PrivateSearchCV.",
    "The process": "The guarantee covers the release. It does not protect against a person who can read the"
    " memory of the computer during the fit.",
    "The small universe": "The code can be run over every outcome for small tables only. For larger tables"
    " the guarantee rests on its proof, and on the fact that the same code runs.",
    "Model files": "A saved model is a program. Load files from trusted sources only.",
    "Preparation before the fit": "Anything that is learned from the private table before the private steps"
    " (means, lists of categories, choices of columns) is not covered.",
    "Caches": "Results that steps compute from private rows must not be kept in a cache.",
    "Teachers": "Each teacher must depend on its own shard of the records and on nothing else outside"
    " dplearn's control, such as files or services. No code that watches models, such as autologging, may see"
    " its fit.",
    "Queries": "The rows that the model predicts are not protected.",
    "Seeds": "The noise was drawn from a seed. Anybody who knows or guesses the seed can subtract the noise.",
}

_ALWAYS = (
    "Several releases",
    "What a model says about people in general",
    "Accuracy on private rows",
    "Timing and memory",
    "The process",
    "The small universe",
    "Model files",
    "Preparation before the fit",
)
_TEACHERS = ("SubsampleAggregate", "SoftLabel", "KnowledgeTransfer")


@dataclass(frozen=True, repr=False)
class PrivacyCard:
    """The privacy card of a release: public values, and released effects only where they were asked for.

    Attributes
    ----------
    values : mapping of str to object
        Public. The texts and tables, by the names of the fields of card.html and card.txt.
    guarantee : Guarantee or None
        Public. The guarantee of the release; None if there is none.
    """

    values: Mapping[str, Any]
    guarantee: Guarantee | None

    @property
    def html(self) -> str:
        """The page: it needs no network and no other file, and runs no script."""
        return filled_html(_file("card.html"), {**self.values, "style": _file("card.css")})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the card to a file; an existing file is replaced.

        Parameters
        ----------
        path : str or path-like
            A name that ends with .html or .htm gets the page, a name that ends with .txt the text.
        """
        kind = Path(path).suffix.lower()
        if kind not in (*_PAGES, _TEXT):
            raise ValueError(f"path must end with {', '.join(_PAGES)} or {_TEXT}, got {os.fspath(path)!r}")
        Path(path).write_text(f"{self}\n" if kind == _TEXT else self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        page, end = self.html, "</article>"
        return page[page.index("<article") : page.index(end) + len(end)]

    def __str__(self) -> str:
        return filled_text(_file("card.txt"), self.values)

    def __repr__(self) -> str:
        return f"PrivacyCard({self.values['title']!r})"


def _file(name: str) -> str:
    return resources.files("dplearn.display").joinpath(name).read_text(encoding="utf-8")


def privacy_card(
    estimator: Any,
    *,
    title: str | None = None,
    ledger: PrivacyLedger | None = None,
    notes: Iterable[str] = (),
    stateless: Collection[str] = (),
    date: datetime.date | None = None,
    shapes: bool = False,
) -> PrivacyCard:
    """Return a card with the guarantee of a release, its assumptions, cost, verification and limits.

    Parameters
    ----------
    estimator : object
        Fitted: a learner, a transformer or a search of dplearn; a release of `dplearn.releases`; a
        scikit-learn Pipeline, FeatureUnion or ColumnTransformer, of which a step without a guarantee shows
        that nothing is guaranteed; or a PrivacyLedger, for one card of all releases that are charged to it.
    title : str, optional
        Replaces the name of the class.
    ledger : PrivacyLedger, optional
        The history to be shown; None takes the ledger of the estimator or of its steps, if there is one.
    notes : iterable of str, default=()
        Further paragraphs. They must not depend on the private data.
    stateless : collection of str, default=()
        As for `dplearn.privacy.pipeline_guarantee`.
    date : datetime.date, optional
        The date of the card; None takes today, in UTC.
    shapes : bool, default=False
        Whether the card has a table of the released effects of the most important columns of an additive
        model.

    Raises
    ------
    NotFittedError
        If `estimator` is not fitted.
    TypeError, ValueError
        If `estimator` has neither a guarantee nor steps, the steps have several ledgers and none is given,
        `shapes` is True for a release without shapes, or a ledger has no releases.

    Notes
    -----
    **Privacy.** The card costs nothing: it reads public settings, the guarantee and the ledger, and no
    released value, except with `shapes`.

    Examples
    --------
    >>> from dplearn import ExponentialMechanismClassifier
    >>> from dplearn.display import privacy_card
    >>> from dplearn.domains import IntegerRange
    >>> X, y = [[value % 100] for value in range(2000)], [value % 100 > 49 for value in range(2000)]
    >>> learner = ExponentialMechanismClassifier(domain=IntegerRange(0, 99), classes=[False, True])
    >>> card = privacy_card(learner.fit(X, y))
    >>> str(card).splitlines()[0], card.html.startswith("<!DOCTYPE html>")
    ('Privacy card: ExponentialMechanismClassifier', True)
    """
    paragraphs = _checked_notes(notes)
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be None or a string, got {type(title).__name__}")
    if ledger is not None and not isinstance(ledger, PrivacyLedger):
        raise TypeError(f"ledger must be None or a PrivacyLedger, got {type(ledger).__name__}")
    of_all = isinstance(estimator, PrivacyLedger)
    guarantee, refusal = (_spent(estimator, ledger), "") if of_all else guaranteed(estimator, stateless)
    parts = parts_of(estimator)
    account = estimator if of_all else account_of(parts) if ledger is None else ledger
    names = _names(estimator) if of_all else [type(part).__name__ for _, part in parts]
    effects = shapes_of([part for _, part in parts]) if shapes else []
    if shapes and not effects:
        raise ValueError(f"shapes must be False for {type(estimator).__name__}, which is no additive model")
    kind = type(estimator)
    values = {
        "title": f"Privacy card: {kind.__name__}" if title is None else title,
        "model": [f"{kind.__name__}, from {kind.__module__.partition('.')[0]}."]
        if not of_all
        else [f"All releases charged to one ledger: {', '.join(names)}."],
        "settings": _settings(estimator),
        **_charges(account),
        "limits": limits_of(guarantee, names),
        "notes": paragraphs,
        "about": [_about(date, shapes)],
    }
    if guarantee is None:
        refused = f"Do not publish this: no statement about its privacy can be made. The reason: {refusal}"
        return PrivacyCard({**values, "alerts": [("Nothing is guaranteed.", refused)]}, None)
    values |= {
        **_explained(guarantee),
        "scope": _scope(estimator),
        "total": [_OF_ALL] if of_all else _total(account),
        "effects": effects,
        **(_verification_of_names(names) if of_all else _verification(_evidence(parts))),
    }
    return PrivacyCard(values, guarantee)


def _explained(guarantee: Guarantee) -> dict[str, Any]:
    """Return the fields that follow from the guarantee alone."""
    return {
        "alerts": warnings_of(guarantee),
        "figures": figures(guarantee),
        "protection": in_words(guarantee),
        "attacks": attacks(guarantee),
        "beliefs": [beliefs(guarantee)],
        "groups": [] if guarantee.protects == "groups" else [in_groups(guarantee)],
        "assumptions": guarantee.assumes or ["no assumption is recorded"],
    }


def _checked_notes(notes: Iterable[str]) -> list[str]:
    entries = None if isinstance(notes, str) else list(notes)
    if entries is None or not all(isinstance(entry, str) for entry in entries):
        raise TypeError("notes must be a collection of strings")
    return entries


def _scope(estimator: Any) -> list[str]:
    """Return that the card of one step does not cover a pipeline around it."""
    if any(hasattr(estimator, name) for name in PARTS) or not hasattr(estimator, "get_params"):
        return []
    return [
        f"This card covers the fit of {type(estimator).__name__} only. If it is a step of a pipeline, make a"
        " card of the whole pipeline: a step that is fitted on private rows without a guarantee, such as"
        " StandardScaler, is not private."
    ]


def _total(ledger: PrivacyLedger | None) -> list[str]:
    """Return the sum of all costs in the ledger, if they are more than this release."""
    if ledger is None:
        return []
    with suppress(LedgerError):
        if len(ledger.history()) > 1:
            total = ", ".join(f"{name} {number}" for name, number in decimals(ledger.spent()).items())
            return [f"Total cost in the ledger so far, this release included: {total}."]
    return []


def _settings(estimator: Any) -> list[Table]:
    settings = settings_of(estimator)
    if isinstance(estimator, PrivateSearchCV):
        settings |= {
            name: f"{value} (the search replaces it; only the ratio between several steps matters)"
            for name, value in settings.items()
            if name.startswith("estimator__") and name.endswith(("epsilon", "delta"))
        }
    caption = "Settings, all of them public. Seeds and ledgers are not shown."
    return [Table(caption, ("setting", "value"), list(settings.items()))] if settings else []


def _charges(ledger: PrivacyLedger | None) -> dict[str, Any]:
    """Return the history of the ledger, or why there is none."""
    if ledger is None:
        unknown = (
            "No ledger is known, so this card does not cover other releases about the same people. Each"
            " further fit costs as much again, and so does each trial of a search."
        )
        return {"cost": [unknown]}
    try:
        history, spent, left = ledger.history(), ledger.spent(), ledger.remaining()
    except LedgerError:
        return {"cost": ["The ledger could not be read when this card was made."]}
    names = list(decimals(ledger.budget))
    rows = [
        (
            str(each.number),
            *decimals(each.cost).values(),
            each.estimator,
            in_short(each.guarantee),
            f"{each.time:%Y-%m-%d %H:%M} UTC",
        )
        for each in history[-_LATEST:]
    ]
    rows.append(("spent", *decimals(spent).values(), "", "", ""))
    rows.append(("left", *(decimal(getattr(left, name), left._rounding) for name in names), "", "", ""))
    rows.append(("budget", *decimals(ledger.budget).values(), "", "", ""))
    listed = f"; the latest {_LATEST} are listed" if len(history) > _LATEST else ""
    return {
        "cost": [f"Number of releases charged to the ledger: {len(history)}{listed}."],
        "charges": [
            Table("Costs of these releases", ("number", *names, "release", "guarantee", "time"), rows)
        ],
    }


def _with_bases(parts: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the parts, and after each part the estimator that it clones and fits."""
    for place, part in parts:
        yield place, part
        if (base := getattr(part, "estimator", None)) is not None:
            yield from _with_bases(parts_of(base, f"{place}.estimator" if place else "estimator"))


def _evidence(parts: list[tuple[str, Any]]) -> Iterator[tuple[str, Evidence | None]]:
    """Yield the name and the evidence of each part that has some, or should."""
    for place, part in _with_bases(parts):
        kind = type(part)
        evidence = evidence_of(kind.__name__) if kind.__module__.startswith("dplearn.") else None
        if evidence is not None or hasattr(part, "guarantee_"):
            yield kind.__name__ + (f" ({place})" if place else ""), evidence


def _spent(ledger: PrivacyLedger, other: PrivacyLedger | None) -> Guarantee:
    if other is not None:
        raise ValueError("ledger must be None for the card of a ledger")
    if not ledger.history():
        raise ValueError("estimator must be a ledger with releases, got one without: nothing is released yet")
    return ledger.spent()


def _names(ledger: PrivacyLedger) -> list[str]:
    return list(dict.fromkeys(each.estimator for each in ledger.history()))


def _verification_of_names(names: Sequence[str]) -> dict[str, Any]:
    """Return the enumerations that verify the releases of a ledger, which are known by name."""
    found = _verification((name, evidence_of(class_of_result(name))) for name in names)
    return {**found, "verification": [*found["verification"], _BY_NAME]}


def _verification(found: Iterable[tuple[str, Evidence | None]]) -> dict[str, Any]:
    """Return the enumerations that verify the parts, and notes on them."""
    notes: list[str] = []
    tables: list[Table] = []
    for name, evidence in found:
        if evidence is None:
            notes.append(f"No enumeration is recorded for {name}.")
        if evidence is not None and evidence.note:
            notes.append(f"{name}: {evidence.note}")
        if evidence is not None and evidence.cases:
            tables.append(_enumerations(name, evidence.whole, checks_of(evidence)))
    notes = [_ENUMERATION, *notes] if tables else notes or ["No enumeration is recorded."]
    return {"verification": notes, "enumerations": tables}


def _enumerations(name: str, whole: bool, checks: list[Check]) -> Table:
    scope = "the whole fit, from the data to the release" if whole else "the mechanisms, not the whole fit"
    rows = [
        (
            check.name,
            f"{check.claimed:.4g}" + (f" (delta {check.delta:.2g})" if check.delta else ""),
            f"{float(check.exact):.4f}",
            f"{check.n_datasets:,}",
            f"{check.n_pairs:,}",
        )
        for check in checks
    ]
    head = ("case", "claimed epsilon", "exact epsilon", "tables", "neighbouring pairs")
    return Table(f"{name}: enumeration of {scope}", head, rows)


def limits_of(guarantee: Guarantee | None, classes: Sequence[str]) -> list[tuple[str, str]]:
    """Return the limits that apply to a model of these classes, its steps', each as heading and text."""
    chosen = []
    if guarantee is not None and guarantee.reproducible:
        chosen.append("Seeds")
    if guarantee is not None and guarantee.neighbors == "replace_one":
        chosen.append("The number of records")
    chosen += _ALWAYS
    if len(classes) > 1:
        chosen.append("Caches")
    if any(name.startswith(_TEACHERS) for name in classes):
        chosen += ["Teachers", "Queries"]
    return [(title, LIMITS[title]) for title in chosen]


def _about(date: datetime.date | None, shapes: bool) -> str:
    day = datetime.datetime.now(datetime.UTC).date() if date is None else date
    return (
        f"Made on {day:%Y-%m-%d} with dplearn {__version__}, scikit-learn {sklearn.__version__} and Python"
        f" {platform.python_version()} from public settings, the guarantee and the ledger. The card contains"
        " no value of the private data and no released value" + (", except the effects." if shapes else ".")
    )


_WIDTH = 100  # characters of a line of text


class _Template(Formatter):
    """The rules for parts and missing values; a subclass escapes the values and adds their markup."""

    def filled(self, template: str, values: Mapping[str, Any]) -> str:
        known = defaultdict(tuple, values)
        parts = template.rstrip("\n").split("\n\n")
        return "\n\n".join(self.vformat(part, (), known) for part in parts if self._is_shown(part, known))

    def _is_shown(self, part: str, values: Mapping[str, Any]) -> bool:
        names = [name for _, name, _, _ in self.parse(part) if name is not None]
        return not names or any(values[name] for name in names)


class _Html(_Template):
    """A template of HTML: `{name}` is filled with a str, `{name:verbatim}` unescaped, `{name:tables}` with
    `Table`s, `{name:markup}` with str, or pairs, in a markup that has a `%s`.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        if not format_spec:
            return _escaped(value)
        if format_spec == "verbatim":
            return str(value)
        if format_spec == "tables":
            return "\n".join(_html_table(table) for table in value)
        return "\n".join(format_spec % tuple(map(_escaped, _texts(entry))) for entry in value)


class _Text(_Template):
    """A template of plain text in lines of 100 characters. `{name:underline}` underlines a str. Lists, of
    markup "- ", have no empty lines between them, and tables are not wrapped.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        if not format_spec:
            return _one_line(value)
        if format_spec == "underline":
            return "=" * len(_one_line(value))
        if format_spec == "tables":
            return "\n\n".join(_text_table(table) for table in value)
        entries = (format_spec % tuple(map(_one_line, _texts(entry))) for entry in value)
        if format_spec.startswith("- "):
            return "\n".join(textwrap.fill(entry, _WIDTH, subsequent_indent="  ") for entry in entries)
        return "\n\n".join(textwrap.fill(entry, _WIDTH) for entry in entries)


filled_html, filled_text = _Html().filled, _Text().filled


def _texts(entry: str | tuple[str, str]) -> tuple[str, ...]:
    return (entry,) if isinstance(entry, str) else entry


def _html_table(table: Table) -> str:
    caption = _escaped(table.caption)
    kind = ' class="pairs"' if len(table.head) == 2 else ""
    head = "".join(f'<th scope="col">{_escaped(cell)}</th>' for cell in table.head)
    body = ""
    for first, *rest in table.rows:
        cells = "".join(f"<td>{_escaped(cell)}</td>" for cell in rest)
        body += f'<tr><th scope="row">{_escaped(first)}</th>{cells}</tr>\n'
    # A <caption> would be as wide as the table and would scroll out of sight with it.
    return (
        f'<figure><figcaption>{caption}</figcaption><div class="wide" role="region" tabindex="0"'
        f' aria-label="{caption}"><table{kind} aria-label="{caption}">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table></div></figure>"
    )


def _text_table(table: Table) -> str:
    rows = [[_one_line(cell) for cell in row] for row in (table.head, *table.rows)]
    caption = textwrap.fill(_one_line(table.caption), _WIDTH)
    return "\n".join([caption, *(f"  {line}" for line in aligned(rows))])


def _one_line(text: str) -> str:
    """Return one line without invisible characters, so that no value looks like another part of the card."""
    line = " ".join(text.split())
    return line if line.isprintable() else repr(line)


def _escaped(text: str) -> str:
    """Return one line that a browser shows as text and never reads as markup."""
    return escape(_one_line(text))
