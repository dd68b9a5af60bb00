"""What is not protected, in words for those who decide about a release; docs/limits.md has the whole list."""

from collections.abc import Iterable, Mapping

__all__ = ["LIMITS", "limits_of"]

#: By the heading in docs/limits.md.
LIMITS: Mapping[str, str] = {
    "Timing and memory": "How long the computation takes and how much memory it uses depend on the data."
    " Nobody who must not see the data may measure it.",
    "The number of records": "How many records the table has is public.",
    "Several releases": "Further releases about the same people add up. Only those charged to one ledger are"
    " accounted for together.",
    "What a model says about people in general": "If smoking causes cancer, a private model will find it, and"
    " that tells about smokers, whether or not they are in the table.",
    "Accuracy on private rows": "An accuracy measured on the private table is a release of its own, which"
    " this guarantee does not cover, and so is the choice of this model among several by such accuracies, as"
    " GridSearchCV makes it. Measure on public data, or take dplearn's private_score and PrivateSearchCV.",
    "The process": "The guarantee is about what is published, not about somebody who can read the memory of"
    " the computer while it works.",
    "The small universe": "Running the code over every outcome is possible for small tables only. For"
    " larger ones the guarantee rests on its proof, and on the same code being run.",
    "Model files": "A saved model is a program. Load only files from those you trust.",
    "Preparation before the fit": "Anything learned from the private table before the private steps (means,"
    " lists of categories, choices of columns) is not covered.",
    "Caches": "What steps made of the private rows must not be kept in a cache.",
    "Teachers": "Each teacher must depend on its own share of the records and on nothing else outside"
    " dplearn's control, such as files or services that it reads.",
    "Queries": "The rows that the model is asked about are not protected.",
    "Seeds": "The noise was drawn from a seed. Whoever knows or guesses the seed can subtract it.",
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
    """Return the limits that apply, each with its heading.

    Parameters
    ----------
    classes : iterable of str
        Names of the classes of the model and of its steps.
    neighbors : str
        Of the guarantee: where a record is replaced, the number of records is public.
    reproducible : bool
        Whether the noise came from a seed.
    whole_pipeline : bool
        Whether there are steps.
    """
    chosen = ["Seeds"] if reproducible else []
    chosen += ["The number of records"] if neighbors == "replace_one" else []
    chosen += _ALWAYS
    chosen += ["Caches"] if whole_pipeline else []
    if any(name.startswith(_TEACHERS) for name in classes):
        chosen += ["Teachers", "Queries"]
    return [(title, LIMITS[title]) for title in chosen]
