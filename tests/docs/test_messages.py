"""What a machine can check of the texts in code that users read: errors, and what rules say of their findings.

The façades keep the words of the SDKs whose names they offer, so errors of `runtime/compat` are not checked.
"""

from __future__ import annotations

import re

from migrate.source.rules.base import refusals_of
from migrate.source.rules.catalogue import catalogue

#: Verbs with which an action begins; a further one is added here once it has been looked at.
VERBS = re.compile(
    r"(access|add|apply|assign|bind|build|call|cast|check|choose|clip|compute|convert|disable|dump|export|give|import"
    r"|keep|leave|let|list|log|look|make|name|normalize|open|pass|read|regularize|remove|rename|replace|reshape|return"
    r"|run|save|separate|set|store|take|train|update|use|wrap|write)\b"
)
#: What else one may begin with: an option that is the remedy, a condition, or a restriction.
OTHER_BEGINNINGS = ("`--", "{", "if ", "only ")
DOUBLED = re.compile(r"\b(\w+(?: \w+){1,4}),? \1\b")
#: Words of a dialect, or of letters, where technical English has a usual one.
UNUSUAL = re.compile(
    r"\b(anew|thereof|hereby|whilst|amongst|don't|can't|won't|isn't|doesn't|wanna)\b"
    r"|\b(initial|normal|regular|recogn|serial|optim|summar|general|special|real)is(e[ds]?|ing|ation)\b"
)


def test_what_rules_say_is_plain() -> None:
    rows = [(rule.id, row) for rule in catalogue() for row in refusals_of(rule)]
    said = [
        (rule, text) for rule, row in rows for text in (row.message, row.reason, row.action, row.assumption) if text
    ]
    assert len(rows) > 300
    assert not [one for one in said if DOUBLED.search(one[1]) or UNUSUAL.search(one[1]) or "  " in one[1]]
    plain = [(rule, text) for rule, text in said if not text.startswith(("`", "{"))]
    names = ("DeepRec", "Horovod", "SOK", "TensorFlow", "Keras", "XLA")
    assert not [one for one in plain if one[1][0].isupper() and not one[1].startswith(names)]


def test_an_action_begins_with_a_verb() -> None:
    actions = {row.action for rule in catalogue() for row in refusals_of(rule) if row.action}
    assert not [one for one in actions if not VERBS.match(one) and not one.startswith(OTHER_BEGINNINGS)]
