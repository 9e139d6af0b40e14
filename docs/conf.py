"""How the documentation is built: ``make docs``.

Every picture and every number on the site is made by the library while the site is built, and nothing is
fetched: neither now nor when it is read. With ``MAXMARGIN_DOCS=quick`` no picture is made and no example
of the gallery is run, which is how the tests build it.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
QUICK = os.environ.get("MAXMARGIN_DOCS") == "quick"
os.environ.setdefault("MPLBACKEND", "agg")

import maxmargin  # noqa: E402

project = "maxmargin"
author = "The maxmargin authors"
copyright = author
version = release = maxmargin.__version__
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "members",
    "pictures",
    "trimmed",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
html_math_renderer = "mathml"

myst_enable_extensions = [
    "amsmath",
    "attrs_block",
    "attrs_inline",
    "colon_fence",
    "deflist",
    "dollarmath",
]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

make_pictures = not QUICK
plot_formats = ["svg"]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_rcparams = {"savefig.bbox": "tight"}
plot_pre_code = "import matplotlib.pyplot as plt\nimport numpy as np\n\nimport maxmargin as mm\n"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "plot_gallery": not QUICK,
    "filename_pattern": r"plot_",
    "ignore_pattern": r"^((?!plot_).)*\.py$",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = "maxmargin"
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "maxmargin"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("index", "choosing", "benchmarks", "contributing", "changelog")}
toc_object_entries_show_parents = "hide"
