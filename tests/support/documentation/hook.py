"""What MkDocs calls (`hooks` in mkdocs.yml): adds the pages that are made of the code, and mends links between pages.

It is `python -m mkdocs` in the repository's root, so that Python finds `tests` and `migrate`.
"""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import migrate
from migrate.report import json_schema
from tests.support.documentation import api, commands, offline, record, repository, rules
from tests.support.paddle import coverage
from tests.support.paths import ROOT
from tests.support.source import idiom_table

_log = logging.getLogger("mkdocs.documentation")  # with `--strict`, a warning of MkDocs fails the build
_SEARCH = 'data-md-component="search" role="dialog"'
#: Names of pages that head a folder, which the navigation names itself.
_HEADS = ("index", "README")


@functools.cache
def generated() -> dict[str, str]:
    """Return path -> text of each page, and of the schema, that is made of the code and no file of the repository."""
    pages = {
        "rules.md": rules.index(),
        "idioms.md": idiom_table.page(),
        "paddle_coverage.md": coverage.page(coverage.all_executions()),
        "report.schema.json": json_schema.text(),
        "troubleshooting.md": rules.troubleshooting(),
        "reference/findings.md": record.findings(),
        "reference/record.md": record.record(),
    }
    for folder, of in (("rules", rules.pages()), ("reference/commands", commands.pages()), ("api", api.pages())):
        pages |= {f"{folder}/{name}": text for name, text in of}
    return pages


def on_config(config: Any) -> Any:
    """Put the pages of a folder where the navigation says `FOLDER/*`, and the version at the head of each page."""
    config.site_name = f"{config.site_name} {migrate.__version__}"
    written = sorted(path.relative_to(config.docs_dir).as_posix() for path in Path(config.docs_dir).rglob("*.md"))
    paths = [*generated(), *written]
    config.nav = _expanded(config.nav, paths)
    return config


def _expanded(nav: Any, paths: list[str]) -> Any:
    if isinstance(nav, dict):
        return {title: _expanded(inner, paths) for title, inner in nav.items()}
    if not isinstance(nav, list):
        return nav
    found: list[Any] = []
    for one in nav:
        if isinstance(one, str) and one.endswith("/*"):
            found += [path for path in paths if path.startswith(one[:-1]) and Path(path).stem not in _HEADS]
        else:
            found.append(_expanded(one, paths))
    return found


def on_files(files: Files, config: Any) -> Files:
    """Add what is made, and the files of the repository that pages link to."""
    pages = [file.src_uri for file in files.documentation_pages()]
    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    for file in repository.linked(ROOT, pages, generated()):
        content = (ROOT / file).read_text(encoding="utf-8")
        files.append(File.generated(config, repository.page_of(file), content=content))
    return files


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Let links lead to pages of the site."""
    return repository.with_links(
        page.file.src_uri, markdown, lambda to: files.get_file_from_path(to) is not None, _renamed
    )


def _renamed(path: str, anchor: str) -> str:
    """Return where a link leads: a rule has a page of its own."""
    return f"rules/{anchor[1:]}.md" if path == "rules.md" and anchor else f"{path}{anchor}"


def on_post_page(output: str, **_: Any) -> str:
    """Name the theme's search dialog, which screen readers would announce without a name."""
    return output.replace(_SEARCH, f'{_SEARCH} aria-label="Search"')


def on_post_build(config: Any) -> None:
    """Warn of a page that a browser cannot show without another host."""
    for path in sorted(Path(config.site_dir).rglob("*")):
        if path.suffix in {".html", ".css"}:
            for address in offline.foreign(path.read_text(encoding="utf-8")):
                _log.warning("`%s` loads `%s`; put it into the site", path.relative_to(config.site_dir), address)
