"""Pages of the documentation site that are made of the code, when `make docs` builds the site (`mkdocs.yml`).

A module here for each kind of page; `hook.py` is what MkDocs loads. None of them imports TensorFlow.
"""
