"""What people type is an entry in the index of the right page; by night a browser searches for it."""

import re
from collections import defaultdict
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
#: Where each query leads; `tasks` also says what dplearn does not do.
RIGHT = {
    "several rows a patient": "groups",
    "too few records": "warnings",
    "overfitting": "warnings",
    "p value": "tasks",
    "survival": "tasks",
    "neural network": "tasks",
    "epsilon": "choosing_epsilon",
    "GDPR": "choosing_epsilon",
    "label": "classify",
    "rare label": "classify",
    "regression": "regress",
    "logistic regression": "linear",
    "hyperparameters": "private_search",
    "AUC": "scoring",
    "median": "releases",
    "synthetic data": "synthetic",
    "PCA": "unsupervised",
    "missing values": "domains",
    "explainability": "explain",
    "pickle": "save_and_load",
    "budget": "ledger",
    "Spark": "large_tables",
    "pipeline": "scikit_learn",
    "CSV": "command_line",
    "which learner": "choose_a_learner",
    "random forest": "make_my_model_private",
    "local model": "queries",
}


def test_each_query_is_an_entry_of_one_page():
    pages = defaultdict(set)
    for page in DOCS.rglob("*.md"):
        for entries in re.findall(r"^```\{index\} (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            for entry in entries.split(", "):
                assert entry.startswith("! "), entry
                pages[entry[2:]].add(page.stem)
    assert {query: pages[query] for query in RIGHT} == {query: {page} for query, page in RIGHT.items()}
    assert {entry: names for entry, names in pages.items() if len(names) > 1} == {}
