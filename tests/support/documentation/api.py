"""Pages of the API: the names that modules export, read from their source; MkDocs' plugin finds the docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.paths import ROOT

#: By page: the title, and the module whose `__all__` it shows.
MODULES = {
    "runtime": "Tables and lookups",
    "runtime.optimizers": "Optimizers of tables",
    "runtime.checkpoint": "Checkpoints",
    "runtime.keras": "Keras",
    "runtime.feature_column": "Feature columns",
    "runtime.ranks": "Several processes",
    "rewriter": "The graph rewriter",
    "migrate.rules": "Rules of your own",
}
#: Of the module, its docstring.
_TEXT_ALONE = "    options: {members: false, show_root_heading: false, show_root_toc_entry: false}\n"


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    rows = [f"- [`{module}`]({module}.md): {title}\n" for module, title in MODULES.items()]
    yield "index.md", "# API\n\nWhat these modules export is public, all else may change.\n\n" + "".join(rows)
    for module, title in MODULES.items():
        names = exported(module)
        parts = [f"# {title}\n\nModule `{module}`.\n\n::: {module}\n{_TEXT_ALONE}"]
        parts += [f"\n::: {module}.{name}\n" for name in names]
        yield f"{module}.md", "".join(parts)


def exported(module: str) -> list[str]:
    """Return the names in a module's `__all__`, without those of its modules that have pages of their own."""
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = ast.literal_eval(node.value)
            return [name for name in names if f"{module}.{name}" not in MODULES]
    raise LookupError(f"`{file}` has no `__all__`")
