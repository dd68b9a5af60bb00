"""Public facts of all settings: what their fits promise, assume, charge and warn of, their plans, signatures,
and errors for a table of mistakes.

Only public names are called. Outcomes of noise, and texts of other libraries, are left out.
"""

import re
import traceback
import warnings
from dataclasses import fields, is_dataclass
from functools import cache, cached_property, partial
from importlib import import_module
from inspect import Parameter, getattr_static, isclass, isfunction, signature
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_iris

import dplearn
from dplearn.domains import Categories, Floats, Grid
from dplearn.privacy import BudgetExceededError, LedgerError, PrivacyLedger
from tests.laws.conftest import (
    PREDICTORS,
    TRANSFORMERS,
    framed,
    in_parts,
    iris_for,
    public_rows,
    with_coarse_domain,
    written,
)

PACKAGE = str(Path(dplearn.__file__).parent)
MODULES = (
    *("audit", "chance", "concepts", "display", "domains", "estimator", "learners", "mechanisms"),
    *("model_selection", "preprocessing", "privacy", "queries", "releases", "theory"),
)
ALL = (*PREDICTORS, *TRANSFORMERS)
NAMES = [re.sub(r"\s+", " ", written(each)) for each in ALL]

#: Parts of warnings that are left out: one comes once a process, one depends on the noise.
LEFT_OUT = ("random_state is set", "no component is clearer than the noise")


def plain(value):
    """A text without addresses, and with numbers of 6 digits."""
    text = re.sub(r" at 0x[0-9A-Fa-f]+", "", str(value))
    text = re.sub(r"\((\w+Error): [^()]*\)", r"(\1)", text)  # of another library
    text = re.sub(r"(?<=noisy number of records is )\d+", "#", text)
    return re.sub(r"\d+\.\d+(e[-+]?\d+)?", lambda number: f"{float(number[0]):.6g}", text)


def raised_here(error):
    """Whether an error was raised by this package, so that its text is of no other library."""
    return traceback.extract_tb(error.__traceback__)[-1].filename.startswith(PACKAGE)


def is_kept(text):
    return not any(each in text for each in LEFT_OUT)


def facts_of(run):
    """What a call tells: facts of its result, and warnings; or the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = run()
        except (Exception, BudgetExceededError, LedgerError) as error:
            text = plain(error) if raised_here(error) else "(a text of another library)"
            return f"{type(error).__name__}: {text}"
    texts = {plain(each.message) for each in caught if each.category is UserWarning}
    told = sorted(text for text in texts if is_kept(text))
    return found | ({"warnings": told} if told else {})


# Signatures.


def called(function):
    """A signature without types, whose texts depend on the version of Python."""
    try:
        found = signature(function)
    except ValueError:
        return "(...)"
    hidden = {each.name for each in fields(function) if not each.repr} if is_dataclass(function) else ()
    bare = [
        each.replace(annotation=Parameter.empty)
        for each in found.parameters.values()
        if each.name not in hidden
    ]
    return re.sub(
        r" at 0x[0-9A-Fa-f]+", "", str(found.replace(parameters=bare, return_annotation=Parameter.empty))
    )


def is_own(kind):
    """Whether the package defines how a class is called."""
    owners = (next(each for each in kind.__mro__ if name in vars(each)) for name in ("__init__", "__new__"))
    return any(owner.__module__.startswith("dplearn") for owner in owners)


def members(kind):
    """Names and signatures of public methods and properties that classes of the package define."""
    for name in dir(kind):
        owner = next((each for each in kind.__mro__ if name in vars(each)), object)
        member = getattr_static(kind, name)
        if name.startswith("_") or not owner.__module__.startswith("dplearn"):
            continue
        if isfunction(member) or isinstance(member, classmethod | staticmethod):
            yield name, called(getattr(kind, name))
        elif isfunction(getattr(member, "fn", None)):  # available where a condition of scikit-learn holds
            yield name, called(member.fn)
        elif isinstance(member, property | cached_property):
            yield name, "property"


def signatures():
    found = {}
    for module in ("dplearn", *(f"dplearn.{name}" for name in MODULES)):
        package = import_module(module)
        for name in sorted(package.__all__):
            thing, full = getattr(package, name), f"{module}.{name}"
            if isclass(thing):
                found[full] = called(thing) if is_own(thing) else "(...)"
                if module != "dplearn" or thing.__name__ not in import_module("dplearn.learners").__all__:
                    found |= {f"{full}.{member}": text for member, text in members(thing)}
            else:
                found[full] = called(thing) if callable(thing) else type(thing).__name__
    return found


# Fits.

IDS = np.random.default_rng(0).permutation(np.concatenate([np.arange(100), np.repeat(np.arange(30), 5)]))
ROWS = np.random.default_rng(1).permutation(len(IDS)) % 100
PERSONS = np.array([f"p{each}" for each in IDS])
#: Words of the names of forms: a parameter, and its value.
PARAMETERS = {
    "added": ("neighbors", "add_remove"),
    "learned": ("domain", "learn"),
    "mixed": ("domain", "learn"),
    "labels": ("protects", "labels"),
    "local": ("trust_model", "local"),
}
#: How a table and its labels are given, and with which parameters.
FORMS = (
    *("memory", "parts", "groups", "groups of one", "parts groups", "sparse", "outputs", "calls"),
    *("added", "added parts", "added groups", "added learned", "added local"),
    *("learned", "learned groups", "learned parts", "mixed", "mixed parts groups"),
    *("labels", "labels groups", "labels parts", "labels learned"),
    *("local", "local groups", "local parts", "local learned"),
)
BY_DAY = {
    "memory",
    "parts",
    "groups",
    "outputs",
    "calls",
    "sparse",
    *(each for each in FORMS if "added" in each),
}
BY_DAY |= {"labels", "labels groups", "labels parts", "labels learned", "local"}


def guarantee_of(guarantee):
    kept = {
        name: plain(getattr(guarantee, name))
        for name in ("epsilon", "delta", "rho")
        if hasattr(guarantee, name)
    }
    bounds = ", ".join(f"{name} {value}" for name, value in kept.items())
    return {
        "guarantee": f"{type(guarantee).__name__}: {bounds}, {guarantee.neighbors}, {guarantee.protects}",
        "assumes": [plain(each) for each in guarantee.assumes],
    }


def charges(ledger):
    return [
        f"{each.estimator}: {plain(each.cost.epsilon)}, {plain(each.cost.delta)}" for each in ledger.history()
    ]


def mixed(X):
    """A table of several types, with missing values."""
    frame = pd.DataFrame({"width": X[:, 0], "count": (10 * X[:, 2]).astype(int), "long": X[:, 3] > 1})
    frame["kind"] = np.where(X[:, 1] > 3, "wide", "narrow")
    frame.loc[::13, ["width", "kind"]] = None
    return frame


def adapted(setting, words, ledger):
    """A copy of a setting with the parameters of a form; None if it lacks one."""
    model = with_coarse_domain(setting) if "parts" in words else clone(setting)
    names = model.get_params(deep=False)
    for name, value in (PARAMETERS[word] for word in words if word in PARAMETERS):
        if name not in names or names[name] == value:
            return None
        model.set_params(**{name: value})
    return model.set_params(**{"random_state": 0, "ledger": ledger} if "ledger" in names else {})


@cache
def table_of(place):
    """The table of a setting; transformers have no labels."""
    if place < len(PREDICTORS):
        return iris_for(ALL[place])
    return np.vstack([load_iris().data, load_iris().data + 1]), None


def fits(place, only=None):
    """What a setting's fits tell, for each form; forms that tell what the table in memory does say so."""
    found = {form: fit(place, form) for form in FORMS if only is None or form in only}
    found = {form: each for form, each in found.items() if each is not None}
    same = {form for form, each in found.items() if form != "memory" and each == found["memory"]}
    return {form: "as in memory" if form in same else each for form, each in found.items()}


def fit(place, form):
    """What a fit of a setting promises, assumes, charges and warns of."""
    words, (X, y) = form.split(), table_of(place)
    protects = "groups" if "groups" in words else getattr(ALL[place], "protects", "examples")
    protects = "labels" if "labels" in words else protects
    neighbors = "add_remove" if "added" in words and protects != "labels" else "replace_one"
    ledger = PrivacyLedger(10**13, 0.9, protects=protects, neighbors=neighbors, allow_reproducible=True)
    model = adapted(ALL[place], words, ledger)
    if model is None or ("calls" in words and not hasattr(model, "partial_fit")):
        return None
    if isinstance(found := facts_of(lambda: fitted(model, words, X, y)), str) and ledger.history():
        return f"{found} [charged {charges(ledger)}]"
    return found if isinstance(found, str) else found | {"charges": charges(ledger)}


def fitted(model, words, X, y):
    table, target = mixed(X) if "mixed" in words else X, y
    more = public_rows(model, table)
    if "outputs" in words:
        target = None if y is None else np.stack([y, y == y[0]], axis=1)
    if "sparse" in words:
        table = csr_matrix(X)
    if words == ["groups", "of", "one"]:
        more["groups"] = np.arange(len(X))
    elif "groups" in words:
        table = (table if "mixed" in words else framed(X)).iloc[ROWS].reset_index(drop=True)
        target, more["groups"] = None if y is None else y[ROWS], PERSONS
    if "parts" in words:
        if "groups" in words:
            table, more["groups"] = table.assign(person=PERSONS), "person"
        if hasattr(table, "columns"):
            table, target = (table, None) if y is None else (table.assign(target=target), "target")
        table = in_parts(table)
        target = target if target is None or isinstance(target, str) else in_parts(target)
    rows = (table,) if target is None else (table, target)
    if "calls" in words:
        takes = "classes" in signature(model.partial_fit).parameters
        first, last = (None, None) if y is None else (y[:60], y[60:])
        model.partial_fit(X[:60], first, **({"classes": np.unique(y)} if takes else {}))
        model.partial_fit(X[60:], last)
    else:
        model.fit(*rows, **more)
    return guarantee_of(model.guarantee_) if hasattr(model, "guarantee_") else {}


# Plans.

PLANNED = {"n_features": 3, "n_labels": 2}


def plans(place, only=None):
    """The plans of a setting, for 600 records and with each parameter of `PARAMETERS`, and for a million."""
    forms = {"600": "", **{f"600 {word}": word for word in PARAMETERS if word != "mixed"}}
    sizes = {name: (word.split(), 600) for name, word in forms.items()} | {"1000000": ([], 1_000_000)}
    found = {name: plan(place, *how) for name, how in sizes.items() if only is None or name in only}
    return {name: each for name, each in found.items() if each is not None}


def plan(place, words, n):
    model = adapted(ALL[place], words, None)
    if model is None or not hasattr(model, "plan"):
        return None
    takes = signature(model.plan).parameters
    public = {name: value for name, value in PLANNED.items() if name in takes}
    return facts_of(lambda: plan_facts(model.plan(n, **public)))


def plan_facts(found):
    lines = [re.sub(r" +", " ", plain(line)).strip() for line in str(found).splitlines()]
    told = [plain(each) for each in getattr(found, "warnings", ()) if is_kept(each)]
    return {"text": lines, **guarantee_of(found.guarantee)} | ({"says": told} if told else {})


# Mistakes.


def two_types(n):
    return np.array([1, "a"] * (n // 2) + [2] * (n % 2), dtype=object)


#: From X and labels to other arguments of `fit`: positional ones, and perhaps named ones.
TABLES = {
    "a missing value": lambda X, y: (np.where(X > 5, np.nan, X), y),
    "an infinite value": lambda X, y: (np.where(X > 5, np.inf, X), y),
    "a text": lambda X, y: (np.where(X > 5, "a", X.astype(object)), y),
    "a sparse missing value": lambda X, y: (csr_matrix(np.where(X > 5, np.nan, X)), y),
    "complex numbers": lambda X, y: (X + 1j, y),
    "one dimension": lambda X, y: (X[:, 0], y),
    "three dimensions": lambda X, y: (X[:, :, None], y),
    "no rows": lambda X, y: (X[:0], y[:0]),
    "no columns": lambda X, y: (X[:, :0], y),
    "no table": lambda X, y: (None, y),
    "no labels": lambda X, y: (X, None),
    "one row": lambda X, y: (X[:1], y[:1]),
    "fewer labels": lambda X, y: (X, y[:-1]),
    "one label": lambda X, y: (X, 0 * y),
    "a missing label": lambda X, y: (X, np.where(y > 0, np.nan, y)),
    "labels of two types": lambda X, y: (X, two_types(len(y))),
    "labels with fractions": lambda X, y: (X, y + np.linspace(0, 0.9, len(y))),
    "labels as text": lambda X, y: (X, np.array([f"l{each}" for each in y])),
    "labels as the name of a column": lambda X, y: (framed(X), "c0"),
    "weights of rows": lambda X, y: (X, y, {"sample_weight": np.ones(len(X))}),
    "an unknown argument": lambda X, y: (X, y, {"colour": 3}),
    "fewer groups": lambda X, y: (X, y, {"groups": np.arange(len(X) - 1)}),
    "groups of two types": lambda X, y: (X, y, {"groups": two_types(len(X))}),
    "missing groups": lambda X, y: (X, y, {"groups": [None] * len(X)}),
    "groups as fractions": lambda X, y: (X, y, {"groups": np.linspace(0, 1, len(X))}),
    "groups of two dimensions": lambda X, y: (X, y, {"groups": np.zeros((len(X), 2))}),
    "groups as the name of a column": lambda X, y: (framed(X), y, {"groups": "c0"}),
    "groups in another order": lambda X, y: (framed(X), y, {"groups": pd.Series(np.arange(len(X)))[::-1]}),
    "labels in another order": lambda X, y: (framed(X), pd.Series(y)[::-1]),
    "parts with other names": lambda X, y: ([framed(X), framed(X).rename(columns={"c0": "d"})], [y, y]),
    "parts in another order": lambda X, y: ([framed(X), framed(X).iloc[:, ::-1]], [y, y]),
    "parts of other widths": lambda X, y: ([X, X[:, 1:]], [y, y]),
    "parts of other types": lambda X, y: ([framed(X), framed(X).astype("float32")], [y, y]),
    "labels of other types": lambda X, y: ([X, X], [y, y.astype(float) + 0.5]),
    "parts without rows": lambda X, y: ([X[:0], X[:0]], [y[:0], y[:0]]),
    "no parts": lambda X, y: ([], []),
    "parts without labels": lambda X, y: ([X, X], None),
    "parts with fewer labels": lambda X, y: ([X, X], [y, y[:-1]]),
    "labels in fewer parts": lambda X, y: ([X, X], [y]),
    "parts with a missing value": lambda X, y: ([X, np.where(X > 5, np.nan, X)], [y, y]),
    "parts and groups beside them": lambda X, y: ([X, X], [y, y], {"groups": np.arange(2 * len(X))}),
    "parts without the column of groups": lambda X, y: ([framed(X)] * 2, [y, y], {"groups": "id"}),
    "parts without the column of labels": lambda X, y: ([framed(X)] * 2, "id"),
    "parts without names and groups": lambda X, y: ([X, X], [y, y], {"groups": "id"}),
    "groups that are the labels": lambda X, y: ([framed(X).assign(y=y)] * 2, "y", {"groups": "y"}),
    "a part with missing groups": lambda X, y: ([framed(X).assign(g=None)] * 2, [y, y], {"groups": "g"}),
    "groups of other types": lambda X, y: (
        [framed(X).assign(g=1), framed(X).assign(g="a")],
        [y, y],
        {"groups": "g"},
    ),
}
#: Values of parameters, where a setting has them; besides, each of the others gets a wrong value.
VALUES = (
    *(("epsilon", value) for value in (0, -1, float("nan"), float("inf"), "1", None, True)),
    *(("delta", value) for value in (-0.1, 1, 2, float("nan"), "1e-6", None)),
    *(("random_state", value) for value in ("a", 0.5)),
    *(("classes", value) for value in ([], [0], [0, 0, 1], "ab", 3, [0, "a"], [7, 8, 9])),
    *(("target_range", value) for value in ((1, 0), (0, 0), 3, (0, float("inf")), "ab")),
    *(
        ("domain", value)
        for value in (3, "ab", [], {"a": 1}, Grid(0, 1, 5), Categories(["a", "b"]), [Floats()])
    ),
    *(("ledger", value) for value in (3, "ab")),
    *(("neighbors", value) for value in ("swap", None)),
)
LEDGERS = {
    "is too small": lambda: PrivacyLedger("1e-9", allow_reproducible=True),
    "is of groups": lambda: PrivacyLedger(10**13, 0.9, protects="groups", allow_reproducible=True),
    "is of labels": lambda: PrivacyLedger(10**13, 0.9, protects="labels", allow_reproducible=True),
    "is of added records": lambda: PrivacyLedger(
        10**13, 0.9, neighbors="add_remove", allow_reproducible=True
    ),
    "refuses seeds": lambda: PrivacyLedger(10**13, 0.9),
}
#: After a fit: what is asked.
ASKED = {
    "other columns": lambda X: X[:, 1:],
    "a missing value": lambda X: np.where(X > 5, np.nan, X),
    "one dimension": lambda X: X[0],
    "no rows": lambda X: X[:0],
    "parts": lambda X: [X, X],
    "sparse rows": csr_matrix,
}


def wrong_parameters(setting):
    """All parameters of a setting with wrong values."""
    names = signature(type(setting)).parameters
    yield from ((name, value) for name, value in VALUES if name in names)
    for name, parameter in names.items():
        if name not in {"n_jobs", *(name for name, _ in VALUES)} and parameter.default is not Parameter.empty:
            yield from ((name, value) for value in (-1, "?"))


def outcome(run, ledger=None):
    """The error of a call, or its warnings."""

    def nothing():
        run()
        return {}

    found = facts_of(nothing)
    charged = " [charged]" if isinstance(found, str) and ledger is not None and ledger.history() else ""
    return found + charged if isinstance(found, str) else " | ".join(["no error", *found.get("warnings", ())])


def mistakes(place, only=None):
    """The errors of a setting for each mistake, or what it says where that is none."""
    setting, (X, y), found, runs = ALL[place], table_of(place), {}, {}
    names, protects = setting.get_params(), getattr(setting, "protects", "examples")

    def fitted(given, room, **parameters):
        *rows, more = given if isinstance(given[-1], dict) else (*given, {})
        seeded = {"random_state": 0, "ledger": room} if "ledger" in names else {}
        model = clone(setting).set_params(**seeded | parameters)
        return model.fit(*rows[: 2 if takes_labels else 1], **more, **public_rows(model, X))

    takes_labels = y is not None
    y = np.zeros(len(X)) if y is None else y
    for name, make in TABLES.items():
        given = make(X, y)
        of = "groups" if isinstance(given[-1], dict) and "groups" in given[-1] else protects
        runs[name] = (fitted, given, of, {})
    for name, value in wrong_parameters(setting):
        runs[f"{name}={plain(repr(value))}"] = (fitted, (X, y), protects, {name: value})
    for name, make in LEDGERS.items() if "ledger" in names else ():
        runs[f"a ledger that {name}"] = (fitted, (X, y), protects, {"ledger": make()})
    for name, (run, *how) in runs.items():
        if only is None or name in only:
            *given, protected, parameters = how
            ledger = PrivacyLedger(10**13, 0.9, protects=protected, allow_reproducible=True)
            found[name] = outcome(partial(run, *given, ledger, **parameters), ledger)
    return found | asked(setting, partial(fitted, (X, y), None), X, only)


def asked(setting, fit, X, only):
    """Errors of questions to a setting."""
    found = {}
    for method in ("predict", "transform"):
        if not hasattr(type(setting), method):
            continue
        found[f"{method} before a fit"] = outcome(lambda method=method: getattr(clone(setting), method)(X))
        if only is None:
            ask = getattr(fit(), method)
            found |= {f"{method} of {name}": outcome(partial(ask, make(X))) for name, make in ASKED.items()}
    return found
