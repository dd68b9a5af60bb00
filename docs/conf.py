"""How the pages, the gallery and the docstrings become one site.

    pip install '.[docs]'
    sphinx-build -W --keep-going -b html -d build/doctrees docs build/html

The pages are Markdown. Measured and computed tables are CSV files in docs/tables, which the programs of
benchmarks/tables write. Autosummary writes the reference: a page a class, and one a package for functions.
"""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

from sphinx.util.inspect import signature, stringify_signature

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
toc_object_entries_show_parents = "hide"
autosummary_context = {
    "public": reference.pages(),
    "elsewhere": ", ".join(reference.bases()),
    "guides": reference.guides(),
}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_exclude = ".linenos, .gp, .go"  # prompts and answers are not copied

SEEDED = "ignore:random_state is set"  # said once, on the page of examples; a setting of each process
warnings.filterwarnings(*SEEDED.split(":"))
os.environ["PYTHONWARNINGS"] = SEEDED
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
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "image_srcset": ["2x"],
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


def constructor(_app, what, _name, thing, *_):
    """Return the parameters of a learner: autodoc would show `__new__`, which checks their names."""
    if what == "class" and hasattr(thing, "get_params"):
        shown = stringify_signature(signature(thing), show_annotation=False, show_return_annotation=False)
        return shown, None
    return None


def public(_app, _name, _thing, _options, bases):
    """Leave out private base classes."""
    bases[:] = [base for base in bases if not base.__name__.startswith("_")] or [object]


def finish(_app, _page, _template, context, _doctree):
    """Let pictures and tables of examples scroll, also by keyboard; name what opens a part of the sidebar."""
    picture = r'<img[^>]*"sphx-glr-single-img"[^>]*>'
    body = re.sub(picture, r'<div class="wide" tabindex="0">\g<0></div>', context.get("body", ""))
    context["body"] = body.replace('<div class="output_subarea', '<div tabindex="0" class="output_subarea')
    tree, named = context["generate_toctree_html"], '<summary aria-label="Pages of this part">'
    context["generate_toctree_html"] = lambda *to, **how: str(tree(*to, **how)).replace("<summary>", named)


def setup(app):
    """Connect what is above to the steps of a build."""
    app.connect("source-read", fill_in)
    app.connect("autodoc-process-signature", constructor)
    app.connect("autodoc-process-bases", public)
    app.connect("html-page-context", finish, priority=900)  # after the theme
