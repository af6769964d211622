"""Links of pages to files of the repository outside of docs/: such a file becomes part of the site.

Pages are read in the repository as well, so their links are those of files; the site has `FOLDER` for those files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath

FOLDER = "repository"
#: A fenced block, which is left as it is, or a link: its text, its path, its anchor.
_LINK = re.compile(
    r"(?P<fence>^(?P<mark>```+|~~~+).*?^(?P=mark)[ ]*$)|\]\((?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)", re.S | re.M
)


def file_of(page: str) -> str:
    """Return the path in the repository of a page of the site."""
    return page.removeprefix(f"{FOLDER}/").removesuffix(".txt") if page.startswith(f"{FOLDER}/") else f"docs/{page}"


def page_of(file: str) -> str:
    """Return the path in the site of a file of the repository; what is not Markdown is shown as text."""
    if file.startswith("docs/"):
        return file.removeprefix("docs/")
    return f"{FOLDER}/{file}" if file.endswith(".md") else f"{FOLDER}/{file}.txt"


def linked(root: Path, pages: Iterable[str], generated: Mapping[str, str]) -> list[str]:
    """Return the files outside of docs/ that pages link to, and those that they link to.

    `generated` has the texts of pages that are no files.
    """
    texts = {file_of(page): text for page, text in generated.items()}
    waiting, found = [*map(file_of, pages), *texts], dict[str, None]()
    while waiting:
        file = waiting.pop()
        if not file.endswith(".md") or not (file in texts or (root / file).is_file()):
            continue
        for match in _LINK.finditer(texts.get(file) or (root / file).read_text(encoding="utf-8")):
            target = _target(file, match)
            if target and not target.startswith("docs/") and target not in found and (root / target).is_file():
                found[target] = None
                waiting.append(target)
    return sorted(found)


def with_links(page: str, text: str, is_page: Callable[[str], bool], renamed: Callable[[str, str], str]) -> str:
    """Return the text of a page with links that are right in the site.

    `renamed` gives the page for a page and an anchor where the site has other pages than the repository.
    """
    file = file_of(page)
    folder = str(PurePosixPath(page).parent)

    def link(match: re.Match[str]) -> str:
        target = _target(file, match)
        to = page_of(target) if target else ""
        if not to or not is_page(to):
            return match.group()  # MkDocs says so
        moved = renamed(to, match["anchor"] or "")
        path, _, anchor = moved.partition("#")
        return f"]({os.path.relpath(path, folder)}{'#' + anchor if anchor else ''})"

    return _LINK.sub(link, text)


def _target(file: str, match: re.Match[str]) -> str:
    """Return the path in the repository that a link means; nothing where it is no link to a file."""
    path = match["path"]
    if not path or path.startswith(("/", "mailto")):
        return ""
    return os.path.normpath(os.path.join(os.path.dirname(file), path))  # noqa: PTH118, PTH120 - text, not a file
