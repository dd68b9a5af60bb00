"""The privacy card: one page on a release, for those who answer for it and are no mathematicians.

>>> from dplearn import ExponentialMechanismClassifier
>>> X, y = [[value] for value in range(100)], [0] * 50 + [1] * 50
>>> card = privacy_card(ExponentialMechanismClassifier(epsilon=1.0, classes=[0, 1]).fit(X, y))
>>> print(card)  # doctest: +ELLIPSIS
Privacy card: ExponentialMechanismClassifier
...
>>> card.html.startswith("<!DOCTYPE html>"), "factor of exp(1) = 2.72" in card.html
(True, True)
"""

import datetime
import os
import platform
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sklearn
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV

from dplearn._version import __version__
from dplearn.display.document import Alert, Block, Document, Items, Paragraph, Section, Table
from dplearn.display.evidence import Check, checks_of, evidence_of
from dplearn.display.guarantee_text import figures, in_groups, in_words, warnings_of
from dplearn.display.limits import limits_of
from dplearn.display.settings import settings_of
from dplearn.model_selection import PrivateSearchCV
from dplearn.preprocessing import CellEncoder
from dplearn.privacy import ApproxDP, Guarantee, LedgerError, PrivacyLedger, pipeline_guarantee
from dplearn.privacy.base import decimal, decimals
from dplearn.privacy.pipelines import PARTS, of_meta_estimators
from dplearn.privacy.plan import Plan

__all__ = ["PrivacyCard", "privacy_card"]

_PAGES, _TEXT = (".html", ".htm"), ".txt"
_LATEST = 100  # releases that are listed
_NAMES_OF_COLUMNS = "the names of the columns are public"


@dataclass(frozen=True, repr=False)
class PrivacyCard:
    """A page about a release; nothing private is on it.

    Attributes
    ----------
    document : Document
        Public. What it says.
    guarantee : Guarantee or None
        Public. What is guaranteed; None where nothing is.
    """

    document: Document
    guarantee: Guarantee | None

    @property
    def html(self) -> str:
        """The page: it needs no network and no other file, and runs no script."""
        return self.document.as_html()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the card to a file; what was there is replaced.

        Parameters
        ----------
        path : str or path-like
            One that ends with .html or .htm gets the page, one that ends with .txt the text.

        Raises
        ------
        ValueError
            If it ends otherwise.
        """
        kind = Path(path).suffix.lower()
        if kind not in (*_PAGES, _TEXT):
            raise ValueError(f"path must end with {', '.join(_PAGES)} or {_TEXT}, got {os.fspath(path)!r}")
        Path(path).write_text(f"{self}\n" if kind == _TEXT else self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        return self.document.as_fragment()

    def __str__(self) -> str:
        return self.document.as_text()

    def __repr__(self) -> str:
        return f"PrivacyCard({self.document.title!r})"


def privacy_card(
    estimator: Any,
    *,
    title: str | None = None,
    ledger: PrivacyLedger | None = None,
    notes: Iterable[str] = (),
    stateless: Collection[str] = (),
    date: datetime.date | None = None,
) -> PrivacyCard:
    """Return a page on what a release protects, by how much, on what assumptions, and what verified it.

    Parameters
    ----------
    estimator : object
        Fitted: a learner, a transformer or a search of dplearn; what `dplearn.releases` returns; or a
        scikit-learn Pipeline, FeatureUnion or ColumnTransformer. Of a pipeline with a step that is not
        private the card says that nothing is guaranteed, and why.
    title : str, optional
        Instead of the name of the class.
    ledger : PrivacyLedger, optional
        Whose history is shown; None takes the estimator's, or that of its steps, if it has one.
    notes : iterable of str, default=()
        What else is to be said, one paragraph each. Take nothing from the private data.
    stateless : collection of str, default=()
        As for `dplearn.privacy.pipeline_guarantee`.
    date : datetime.date, optional
        Of the card; None takes today, in UTC.

    Returns
    -------
    PrivacyCard

    Raises
    ------
    NotFittedError
        If `estimator` is not fitted.
    TypeError
        If `estimator` has neither a guarantee nor steps, such as scikit-learn's searches, or a parameter is
        not as described.
    ValueError
        If its parts have several ledgers and none is given.

    Notes
    -----
    **Privacy.** The card costs nothing: it reads public settings, the guarantee and the ledger, which are
    fixed before a fit looks at data, and no released value.
    """
    paragraphs = _checked_notes(notes)
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be None or a string, got {type(title).__name__}")
    if ledger is not None and not isinstance(ledger, PrivacyLedger):
        raise TypeError(f"ledger must be None or a PrivacyLedger, got {type(ledger).__name__}")
    guarantee, refusal = _guaranteed(estimator, stateless)
    parts = _parts_of(estimator)
    account = _account(parts) if ledger is None else ledger
    covered = _covered(estimator, guarantee)
    head = [Section("", [*covered, *_head(guarantee, refusal), *_so_far(guarantee, account)])]
    sections = [] if guarantee is None else _guarantee_sections(guarantee)
    rest = [
        Section("The model and its public settings", _settings(estimator)),
        Section("What was spent, and when", _spent(account)),
        *([] if guarantee is None else [Section("How this was verified", _verified(parts))]),
        Section("Known limits", (Items(_limits(guarantee, parts)),)),
        *([Section("Notes", paragraphs)] if paragraphs else []),
        Section("About this card", (_about(date),)),
    ]
    name = f"Privacy card: {type(estimator).__name__}" if title is None else title
    return PrivacyCard(Document(name, (*head, *sections, *rest)), guarantee)


def _checked_notes(notes: Iterable[str]) -> list[Block]:
    entries = None if isinstance(notes, str) else list(notes)
    if entries is None or not all(isinstance(entry, str) for entry in entries):
        raise TypeError("notes must be a collection of strings")
    return [Paragraph(entry) for entry in entries]


def _guaranteed(estimator: Any, stateless: Collection[str]) -> tuple[Guarantee | None, str]:
    """Return what is guaranteed, or None and why nothing is."""
    if isinstance(estimator, Plan):
        raise TypeError(
            f"estimator must be fitted, got a {type(estimator).__name__}: nothing is released yet"
        )
    if any(hasattr(estimator, name) for name in PARTS):
        try:
            return pipeline_guarantee(estimator, stateless=stateless), ""
        except (TypeError, ValueError) as error:  # they name steps and settings, and no values
            return None, str(error)
    for name in ("guarantee_", "guarantee"):
        found = getattr(estimator, name, None)
        if isinstance(found, Guarantee):
            return found, ""
    if isinstance(estimator, CellEncoder) and hasattr(estimator, "n_features_in_"):
        return ApproxDP(0, assumes=(_NAMES_OF_COLUMNS,)), ""
    if type(estimator).__module__.partition(".")[0] == "dplearn" and hasattr(estimator, "fit"):
        raise NotFittedError(f"estimator must be fitted, got an unfitted {type(estimator).__name__}")
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV) or hasattr(estimator, "cv_results_"):
        raise TypeError(
            f"estimator must be private as a whole, got {type(estimator).__name__}, which chooses by raw"
            " scores on held-out rows: whatever its fits spent, nothing protects that choice; take"
            " dplearn.model_selection.PrivateSearchCV"
        )
    raise TypeError(
        "estimator must be fitted and have a guarantee, or be a pipeline of such steps, got"
        f" {type(estimator).__name__}{of_meta_estimators(estimator)}"
    )


def _parts_of(estimator: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Return the estimator, and all steps within it, by name."""
    found = [(prefix, estimator)]
    kept = next((getattr(estimator, name) for name in PARTS if hasattr(estimator, name)), ())
    for name, step, *_ in kept:
        if step is not None and not isinstance(step, str):
            found += _parts_of(step, f"{prefix}.{name}" if prefix else name)
    return found


def _account(parts: list[tuple[str, Any]]) -> PrivacyLedger | None:
    """Return the ledger that the parts are charged to."""
    ledgers = {id(each): each for _, part in parts if (each := getattr(part, "ledger", None)) is not None}
    # Copies of a ledger in a file are the same account.
    accounts = {each.path or place: each for place, each in ledgers.items()}
    if len(accounts) > 1:
        raise ValueError(f"ledger must be given: the steps are charged to {len(accounts)} ledgers")
    return next(iter(accounts.values()), None)


def _head(guarantee: Guarantee | None, refusal: str) -> list[Block]:
    if guarantee is None:
        text = "No statement about privacy can be made, so this should not be published. The reason: "
        return [Alert("Nothing is guaranteed.", text + refusal)]
    return [*warnings_of(guarantee), figures(guarantee)]


def _covered(estimator: Any, guarantee: Guarantee | None) -> list[Block]:
    """Return that a card of one step says nothing of a pipeline around it."""
    whole = any(hasattr(estimator, name) for name in PARTS)
    if guarantee is None or whole or not hasattr(estimator, "get_params"):
        return []
    text = (
        f"This card covers the fit of {type(estimator).__name__} alone. If it is a step of a pipeline, make"
        " the card of the whole pipeline: a step that is fitted on private rows without a guarantee, such as"
        " StandardScaler, is not private."
    )
    return [Paragraph(text)]


def _so_far(guarantee: Guarantee | None, ledger: PrivacyLedger | None) -> list[Block]:
    """Return what the ledger holds, where that is more than this release."""
    if guarantee is None or ledger is None:
        return []
    with suppress(LedgerError):
        if len(ledger.history()) > 1:
            total = ", ".join(f"{name} {number}" for name, number in decimals(ledger.spent()).items())
            return [Paragraph(f"All that was charged to its ledger so far, this release included: {total}.")]
    return []


def _guarantee_sections(guarantee: Guarantee) -> list[Section]:
    assumed = guarantee.assumes
    public: tuple[Block, ...] = (Paragraph("Nothing."),)
    if assumed:
        why = (
            "The guarantee holds if the following is true of every table that there might have been, and may"
            " be known to all."
        )
        public = (Paragraph(why), Items(assumed))
    return [
        Section("What is protected, and by how much", in_words(guarantee)),
        Section("A person with several records", in_groups(guarantee)),
        Section("What is assumed to be public", public),
    ]


def _settings(estimator: Any) -> tuple[Block, ...]:
    kind = type(estimator)
    shown = Paragraph(f"{kind.__name__}, of {kind.__module__.partition('.')[0]}.")
    settings = settings_of(estimator)
    if isinstance(estimator, PrivateSearchCV):
        settings |= {
            name: f"{value} (the search sets it: only how those of several steps are to each other counts)"
            for name, value in settings.items()
            if name.startswith("estimator__") and name.endswith(("epsilon", "delta"))
        }
    if not settings:
        return (shown,)
    caption = "Settings, which the guarantee takes as public. Seeds and ledgers are not shown."
    return shown, Table(caption, ("setting", "value"), tuple(settings.items()))


def _spent(ledger: PrivacyLedger | None) -> list[Block]:
    if ledger is None:
        return [
            Paragraph(
                "No ledger is known, so this card tells nothing of other releases about the same people. Each"
                " further fit, each trial of a search included, costs as much again."
            )
        ]
    try:
        history, spent, left = ledger.history(), ledger.spent(), ledger.remaining()
    except LedgerError:
        return [Paragraph("The ledger could not be read when this card was made.")]
    budget, names = ledger.budget, list(decimals(ledger.budget))
    rows = [
        (
            str(record.number),
            *decimals(record.cost).values(),
            record.estimator,
            f"{record.time:%Y-%m-%d %H:%M} UTC",
        )
        for record in history[-_LATEST:]
    ]
    rows.append(("spent", *decimals(spent).values(), "", ""))
    rows.append(("left", *(decimal(getattr(left, name), left._rounding) for name in names), "", ""))
    rows.append(("budget", *decimals(budget).values(), "", ""))
    caption = f"Releases that were charged to this ledger: {len(history)}"
    if len(history) > _LATEST:
        caption += f", the latest {_LATEST} of them listed"
    return [Table(caption, ("number", *names, "release", "time"), tuple(rows))]


def _with_bases(parts: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the parts, and after each what it fits clones of."""
    for place, part in parts:
        yield place, part
        if (base := getattr(part, "estimator", None)) is not None:
            yield from _with_bases(_parts_of(base, f"{place}.estimator" if place else "estimator"))


def _verified(parts: list[tuple[str, Any]]) -> list[Block]:
    blocks: list[Block] = []
    checked = False
    for place, part in _with_bases(parts):
        kind = type(part)
        evidence = evidence_of(kind.__name__) if kind.__module__.startswith("dplearn.") else None
        if evidence is None and hasattr(part, "guarantee_"):
            blocks.append(Paragraph(f"No enumeration is recorded for {kind.__name__}."))
        if evidence is None:
            continue
        name = kind.__name__ + (f" ({place})" if place else "")
        if evidence.note:
            blocks.append(Paragraph(f"{name}: {evidence.note}"))
        if evidence.cases:
            checked = True
            blocks.append(_figures_of(name, evidence.whole, checks_of(evidence)))
    if checked:
        blocks.insert(0, Paragraph(_HOW))
        blocks.append(Paragraph(_AGAIN))
    return blocks or [Paragraph("No enumeration is recorded.")]


_HOW = (
    "The program itself was run over every possible outcome of its random draws, on every table of a small"
    " world of possible tables, and all neighbouring tables were compared. The exact epsilon that was found"
    " must never be above what is claimed. The worlds have settings of their own, so their epsilons are not"
    " this model's."
)
_AGAIN = "Anybody can repeat this on an installed copy: python -m dplearn audit NAME."


def _figures_of(name: str, whole: bool, checks: list[Check]) -> Table:
    what = (
        f"{name}, from the data to all that is published"
        if whole
        else f"{name}: no whole-fit enumeration; its mechanisms are enumerated"
    )
    rows = tuple(
        (
            check.name,
            f"{check.claimed:.4g}" + (f" (delta {check.delta:.2g})" if check.delta else ""),
            f"{float(check.exact):.4f}",
            f"{check.n_datasets:,}",
            f"{check.n_pairs:,}",
        )
        for check in checks
    )
    return Table(what, ("case", "epsilon claimed", "epsilon found", "tables", "pairs compared"), rows)


def _limits(guarantee: Guarantee | None, parts: list[tuple[str, Any]]) -> tuple[tuple[str, str], ...]:
    chosen = limits_of(
        [type(part).__name__ for _, part in parts],
        neighbors="" if guarantee is None else guarantee.neighbors,
        reproducible=guarantee is not None and guarantee.reproducible,
        whole_pipeline=len(parts) > 1,
    )
    return tuple(chosen)


def _about(date: datetime.date | None) -> Paragraph:
    day = datetime.datetime.now(datetime.UTC).date() if date is None else date
    return Paragraph(
        f"Made on {day:%Y-%m-%d} with dplearn {__version__}, scikit-learn {sklearn.__version__} and Python"
        f" {platform.python_version()}. It was made from public settings and the guarantee alone: no value"
        " of the data, and none that was released, is on it."
    )
