"""The site: what Sphinx reads, and how it looks. `make docs` builds it into docs/_build/html."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import relgrad  # noqa: E402 - the extensions of this site lie beside this file

project = "relgrad"
author = "the authors of relgrad"
release = version = relgrad.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "extensions.mathematics",
    "extensions.docstrings",
    "extensions.generated",
]
exclude_patterns = ["_build", "extensions"]

myst_enable_extensions = ["deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
nb_execution_mode = "off"
nb_merge_streams = True

nitpicky = True
# Annotations name types of the standard library and of NumPy, whose documents are elsewhere.
nitpick_ignore_regex = [("py:class", ".*"), ("py:data", ".*")]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
maximum_signature_line_length = 90
add_module_names = False
python_use_unqualified_type_names = True

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "relgrad"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
pygments_style = "default"
pygments_dark_style = "monokai"
