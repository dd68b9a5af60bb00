"""How the pages, the gallery and the docstrings become one site.

    pip install '.[docs]'
    sphinx-build -W --keep-going -b html -d build/doctrees docs build/html

The pages are Markdown. Measured and computed tables are CSV files in docs/tables, which the programs of
benchmarks/tables write. Autosummary writes the reference: a page a class, and one a package for functions.
"""

import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS)]

import reference  # noqa: E402  (docs/ is on the path from here on)

import dplearn  # noqa: E402

project = "dplearn"
author = "The dplearn developers"
copyright = author  # noqa: A001  (Sphinx's name for it)
version = release = dplearn.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["changelog.d", "gallery", "notebooks", "changelog.md", "static", "tables", "templates"]
templates_path = ["templates"]
default_role = "py:obj"  # single backticks in docstrings: a link where there is something to link to
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_block", "dollarmath"]
myst_dmath_allow_labels = False
html_math_renderer = "mathml"

autodoc_typehints = "none"  # docstrings say types, with shapes
autosummary_context = {
    "public": reference.pages(),
    "elsewhere": ", ".join(reference.bases()),
    "guides": reference.guides(),
}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_exclude = ".linenos, .gp, .go"  # prompts and answers are not copied

sphinx_gallery_conf = {
    "examples_dirs": ["gallery", "notebooks"],
    "gallery_dirs": ["_gallery", "_notebooks"],
    "filename_pattern": r"/plot_|docs/notebooks/",  # what is run
    "backreferences_dir": "_gallery/uses",  # which examples use a class, for its page
    "doc_module": ("dplearn",),
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "parallel": True,  # as many examples at a time as sphinx-build is told
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "thumbnail_size": (640, 448),  # for screens with two dots a pixel
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "dplearn"
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["project.html"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "collapse_navigation": True,
}
html_sidebars = {"index": []}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(DOCS / "templates" / "scorer.js")
html_show_sourcelink = False

NAME = re.compile(r"^```.*?^```|(?<!\[)`([A-Z]\w+)`", re.DOTALL | re.MULTILINE)


def linked(found):
    """Return a class's name as a link to its reference, and blocks of code as they are."""
    home = next((names[found[1]] for names in reference.homes().values() if found[1] in names), None)
    return f"{{py:obj}}`{found[1]} <{home}.{found[1]}>`" if home else found[0]


def fill_in(_app, name, source):
    """Link the classes that a page names, and write the changes since the last release where it asks."""
    if name.startswith(("_gallery", "_notebooks", "api/dplearn")):
        return
    source[0] = NAME.sub(linked, source[0])
    if "<!-- changes -->" in source[0]:
        command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "Not yet released"]
        run = subprocess.run(command, cwd=DOCS.parent, check=True, capture_output=True, text=True)  # noqa: S603
        draft = run.stdout
        changes = draft[draft.index("## ") :].replace("\n#", "\n##").replace("](../", "](")
        source[0] = source[0].replace("<!-- changes -->", f"#{changes}")


def setup(app):
    """Fill in pages before they are parsed."""
    app.connect("source-read", fill_in)
