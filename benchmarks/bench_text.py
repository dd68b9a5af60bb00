"""How accurate and how fast is a private logistic regression of hashed text, which has 2**18 columns?

    python benchmarks/bench_text.py [--data FOLDER] [--fits 5] [--json PATH]

Text is made from bundled data: the descriptions of scikit-learn's bundled tables, in two groups of tables. A
document has 25 words, each drawn from the descriptions of its own group with probability .6, else from those
of the other group. The label is the group; 20,000 documents train, 5,000 test. With --data, also the rows of
Adult's training part as text, a token for each column and value (24,000 rows train, the others test). Beside
ours: the same learner on text that is hashed to 256 columns, as a user would do without wide tables, and
scikit-learn's logistic regression without privacy. Constants were chosen on Adult's tokens. CPU seconds.
"""

from pathlib import Path
from statistics import mean
from time import process_time
from warnings import catch_warnings, simplefilter

import numpy as np
import pandas as pd
from side_by_side import lined_up, options_of, public_generator, write
from sklearn import datasets
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from dplearn import StatisticalQueryLogisticRegression

BUNDLED = (("breast_cancer", "diabetes", "linnerud"), ("digits", "iris", "wine"))
LONG, OWN = 25, 0.6  # words in a document, and the probability that a word is of its own group
TRAINING, TEST = 20_000, 5_000
EPSILONS = (0.5, 1.0, 3.0)


def descriptions():
    """Return documents, labels, and which documents are for training."""
    rng = public_generator()
    words = [
        np.array([word for name in group for word in getattr(datasets, f"load_{name}")().DESCR.split()])
        for group in BUNDLED
    ]
    labels = rng.integers(2, size=TRAINING + TEST)
    texts = []
    for label in labels:
        own = rng.random(LONG) < OWN
        texts.append(
            " ".join(np.where(own, rng.choice(words[label], LONG), rng.choice(words[1 - label], LONG)))
        )
    return texts, labels, np.arange(len(labels)) < TRAINING


def adult(folder):
    """Return the rows of Adult's training part as text."""
    frame = pd.read_csv(folder / "adult_train.csv", dtype=str)
    rows = frame.drop(columns="income")
    texts = [
        " ".join(f"{name}={cell}" for name, cell in zip(rows, row, strict=True)) for row in rows.to_numpy()
    ]
    order = np.random.default_rng(0).permutation(len(frame))
    return texts, (frame["income"] == ">50K").astype(int).to_numpy(), order < 24_000


def fitted(model, X, y, training):
    """Return the seconds of a fit, the accuracy and the area under the ROC curve."""
    start = process_time()
    with catch_warnings():
        simplefilter("ignore")
        model.fit(X[training], y[training])
    seconds = process_time() - start
    test = ~training
    area = roc_auc_score(y[test], model.decision_function(X[test]))
    return seconds, model.score(X[test], y[test]), area


def measured(texts, y, training, fits):
    """Yield a row for each learner and epsilon."""
    tables = {
        bits: HashingVectorizer(n_features=1 << bits, token_pattern=r"\S+").transform(texts)
        for bits in (18, 8)
    }
    yield ["not private, 2**18 columns", "", *fitted(LogisticRegression(C=10), tables[18], y, training)]
    for epsilon in EPSILONS:
        for bits, X in tables.items():
            models = [
                StatisticalQueryLogisticRegression(epsilon=epsilon, classes=[0, 1], random_state=seed)
                for seed in range(fits)
            ]
            found = [fitted(model, X, y, training) for model in models]
            yield [f"ours, 2**{bits} columns", epsilon, *map(mean, zip(*found, strict=True))]


def main():
    parser = options_of("text", __doc__)
    parser.add_argument("--data", type=Path, help="folder that holds adult_train.csv")
    parser.add_argument("--fits", type=int, default=5)
    options = parser.parse_args()
    problems = {"descriptions": descriptions()}
    if options.data is not None:
        problems["Adult's rows"] = adult(options.data)
    names = ["text", "learner", "epsilon", "documents", "CPU s", "accuracy", "AUC"]
    rows = [
        [name, learner, epsilon, int(training.sum()), *figures]
        for name, (texts, y, training) in problems.items()
        for learner, epsilon, *figures in measured(texts, y, training, options.fits)
    ]
    cells = [[f"{each:.3f}" if isinstance(each, float) else str(each) for each in row] for row in rows]
    print(lined_up([names, *cells], left=2))
    write(
        options.json,
        ["scikit-learn", "numpy", "scipy"],
        rows=[dict(zip(names, row, strict=True)) for row in rows],
    )


if __name__ == "__main__":
    main()
