"""How the documentation is built: `make docs`. Warnings are errors, examples are executed."""

from benchmarks import numerics

numerics.set_up("native")  # before numpy is loaded: one thread, as everywhere

from soden import __version__  # noqa: E402

project = "soden"
author = "The SODEN benchmark contributors"
release = __version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["_build", "gallery/GALLERY_HEADER.rst"]
html_theme = "furo"
html_title = "soden"
html_static_path = ["_static"]
html_css_files = ["soden.css"]
html_copy_source = False
html_show_sourcelink = False
autodoc_typehints = "none"  # almost all are Any: the docstrings say which forms are taken
autodoc_member_order = "bysource"
html_show_copyright = False
default_role = "code"
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "default_thumb_file": None,
    "reset_modules": ("matplotlib",),
    "notebook_extensions": set(),
    "write_computation_times": False,
    "min_reported_time": 3600,  # a page need not say how busy a machine was
    "capture_repr": (),
}
