"""Sphinx configuration; `make docs` builds the pages."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

from record_reports import SCHEME  # noqa: E402

import kdrbench  # noqa: E402

project = "kdrbench"
author = "The kdrbench developers"
copyright = author
release = kdrbench.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinxcontrib.bibtex",
    "sphinx_gallery.gen_gallery",
    "house_docstrings",
    "mathml",
    "record_reports",
]
exclude_patterns = ["_build", "_reports", "examples", "paper", "sg_execution_times.rst", "**/sg_execution_times.rst"]

# Pages.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_url_schemes = {**dict.fromkeys(("http", "https", "mailto")), **SCHEME}
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"

# Public packages. Types of other projects are names only: a build needs no network.
autodoc_default_options = {"members": True, "imported-members": True, "member-order": "groupwise"}
# scikit-learn adds these to every estimator.
autodoc_default_options["exclude-members"] = (
    "fit_transform, get_feature_names_out, get_metadata_routing, get_params, set_fit_request, set_output, set_params, "
    "set_score_request, set_transform_request"
)
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
nitpicky = True
# Modules inside of packages have no page of their own.
nitpick_ignore_regex = [(r"py:.*", r"(?!kdrbench).*"), ("py:mod", r"kdrbench\..*")]

# Examples, run when the pages are built.
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "capture_repr": (),
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 3600,
}

# Looks: system fonts, formulas as MathML, nothing from another server.
html_theme = "furo"
html_title = f"kdrbench {release}"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["house.css"]
html_show_copyright = False
html_copy_source = False
# The reports of the record of the papers, which `make docs` makes first.
html_extra_path = ["_reports"] if (HERE / "_reports").is_dir() else []
html_show_sourcelink = False
