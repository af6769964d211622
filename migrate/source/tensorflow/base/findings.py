"""Findings about code: at its place, with its text, and in the words of a blocker or of a use of a table."""

from __future__ import annotations

from typing import Any

import libcst as cst

from migrate.report.model import Applicability, Finding, Location, State
from migrate.source.files.notebook import SUFFIX as NOTEBOOK
from migrate.source.tensorflow.base.model import Adaptation, Blocker
from migrate.source.tensorflow.base.rule_kinds import File


def finding(
    file: File,
    node: cst.CSTNode,
    rule: str,
    subject: str,
    state: State,
    *texts: str,
    **more: Any,
) -> Finding:
    """Return a finding about the code of `node`: message, reason and action, and in `more` its further fields."""
    message, reason, action = (*texts, "", "")[:3]
    text = "" if isinstance(node, cst.Module) else file.tree.source(node)
    return Finding(rule, subject, state, file.tree.location(node), message, reason, action, before=text, **more)


def of_blocker(file: File, each: Blocker, **more: Any) -> Finding:
    """Return what keeps a table, or is left to the user to decide."""
    state = State.SUGGESTED if each.assumption else each.state
    assumptions = (each.assumption,) if each.assumption else ()
    texts = (each.message, each.reason, each.action)
    return finding(file, each.node, each.rule, "use", state, *texts, assumptions=assumptions, **more)


def of_use(file: File, use: Blocker | Adaptation, after: str = "", **more: Any) -> Finding:
    """Return what became of a use of a converted table: it is changed, also under an assumption, or valid as it is."""
    assumed, state = isinstance(use, Blocker), State.APPLIED if use.changes else State.NOTED
    more |= {"assumptions": (use.assumption,), "applicability": use.applicability} if isinstance(use, Blocker) else {}
    more.setdefault("applicability", Applicability.EXACT)
    texts = (use.message, use.reason, "" if assumed else use.action)
    return finding(file, use.node, use.rule, "use", state, *texts, after=after, **more)


def in_one_line(file: File, each: Blocker, home: cst.CSTNode) -> str:
    """Return a blocker as one line, with its place when that is in another file than `home`."""
    location = file.tree.location(each.node)
    elsewhere = location.path != file.tree.location(home).path
    return f"{each.message}: {each.reason}" + (f" ({location.path}:{location.line})" if elsewhere else "")


def of_line(place: Location, here: Location) -> str:
    """Return ` (line …)`, with the path of another file; empty in a notebook, where each cell numbers its own lines."""
    if place.path.endswith(NOTEBOOK):
        return ""
    return f" (line {place.line})" if place.path == here.path else f" ({place.path}:{place.line})"
