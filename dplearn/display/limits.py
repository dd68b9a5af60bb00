"""The limits of a guarantee, for those who decide about a release; docs/limits.md has the whole list."""

from collections.abc import Iterable, Mapping

__all__ = ["LIMITS", "limits_of"]

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


def limits_of(
    classes: Iterable[str], *, neighbors: str, reproducible: bool, whole_pipeline: bool
) -> list[tuple[str, str]]:
    """Return the limits that apply, each as its heading and its text.

    Parameters
    ----------
    classes : iterable of str
        Names of the classes of the model and of its steps.
    neighbors : str
        The neighbours of the guarantee; with replace_one the number of records is public.
    reproducible : bool
        Whether the noise was drawn from a seed.
    whole_pipeline : bool
        Whether the model has steps.
    """
    chosen = ["Seeds"] if reproducible else []
    chosen += ["The number of records"] if neighbors == "replace_one" else []
    chosen += _ALWAYS
    chosen += ["Caches"] if whole_pipeline else []
    if any(name.startswith(_TEACHERS) for name in classes):
        chosen += ["Teachers", "Queries"]
    return [(title, LIMITS[title]) for title in chosen]
