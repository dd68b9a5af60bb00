"""How the pages, the gallery and the docstrings become one site.

    pip install '.[docs]'
    sphinx-build -W --keep-going -b html -d build/doctrees docs build/html

The pages are Markdown that reads as well on GitHub. Comments in them ask for what only the build has: the
contents of a section (the pages that it links to), cards in place of a list, a field for a search, the
reference of a package, a figure of the gallery, the list of changes. Formulas stand between dollars.
"""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS)]

import site_parts  # noqa: E402  (docs/ is on the path from here on)

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
exclude_patterns = ["changelog.d", "gallery", "notebooks", "changelog.md", "static"]
default_role = "py:obj"  # single backticks in docstrings: a link where there is something to link to
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_block", "dollarmath"]
myst_dmath_allow_labels = False
html_math_renderer = "mathml"

autodoc_typehints = "none"  # docstrings say types, with shapes
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

copybutton_exclude = ".linenos, .gp, .go"  # prompts and answers are not copied

sphinx_gallery_conf = {
    "examples_dirs": ["gallery", "notebooks"],
    "gallery_dirs": ["_gallery", "_notebooks"],
    "filename_pattern": r"/plot_|docs/notebooks/",  # what is run
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
    "header_links_before_dropdown": 9,
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "collapse_navigation": True,
}
html_sidebars = {page: [] for page in ("index", "choose_a_learner", "compare", "getting_started")}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False


def setup(app):
    """Fill in the comments of pages before they are parsed; check that no page and no public name is lost."""
    app.connect("source-read", site_parts.fill_in)
    app.connect("env-check-consistency", site_parts.check_reference)
    app.connect("env-check-consistency", site_parts.check_pages)
    app.connect("html-page-context", site_parts.check_name)
