"""Every mistake in a schema is one sentence that names the file and the key."""

from __future__ import annotations

import pytest

from migrate.errors import MigrateError
from migrate.schema import parse_schema
from tests.support.paddle import cases as cases

GOOD = """\
version: 1
model: {class: Net, arguments: {n: 6}}
input:
  name: x
  size: 6
  dense: [[0, 2]]
  sparse:
    - {name: p, start: 2, size: 3}
    - {name: q, start: 5, size: 1}
labels: [a, b]
tasks:
  - {name: a, output: 0, label: a}
"""


WRONG = {
    "syntax": ("labels: [a, b]", "labels: [a, b", "line"),
    "not-a-mapping": (GOOD, "- 1", "`the schema`"),
    "unknown-key": ("labels:", "label:", "unknown key `label`"),
    "unknown-input-key": ("  size: 6", "  size: 6\n  widht: 3", "unknown key `input.widht`"),
    "unknown-feature-key": ("size: 3}", "sise: 3}", "unknown key `input.sparse[0].sise`"),
    "version": ("version: 1", "version: 2", "`version` is 2"),
    "version-type": ("version: 1", "version: one", "`version` is 'one'"),
    "no-input": (GOOD[GOOD.index("input:") : GOOD.index("labels:")], "", "`input` is missing"),
    "size-type": ("  size: 6", "  size: six", "`input.size` is 'six'"),
    "size-bool": ("  size: 6", "  size: true", "`input.size` is True"),
    "feature-missing": ("start: 5, ", "", "`input.sparse[1].start` is missing"),
    "feature-empty": ("size: 3}", "size: 0}", "`input.sparse[0].size` is 0"),
    "range": ("[[0, 2]]", "[[2, 0]]", "`input.dense[0]` is [2, 0]"),
    "range-flat": ("[[0, 2]]", "[0, 2]", "`input.dense[0]` is 0"),
    "overlap": ("start: 5, size: 1", "start: 4, size: 2", "column 4 to both sparse `p` and sparse `q`"),
    "overlap-dense": ("[[0, 2]]", "[[0, 3]]", "column 2 to both dense[0] and sparse `p`"),
    "gap": ("[[0, 2]]", "[[0, 1]]", "columns 1 to 1 (before sparse `p`)"),
    "gap-at-end": ("  size: 6", "  size: 8", "columns 6 to 7 (before the end)"),
    "beyond": ("  size: 6", "  size: 5", "`input.size` is 5, but sparse `q` covers columns 5 to 5"),
    "twice": ("name: q", "name: p", "has the name `p` twice"),
    "label-twice": ("labels: [a, b]", "labels: [a, a]", "`labels` has the name `a` twice"),
    "no-labels": ("labels: [a, b]", "labels: []", "`labels` is []"),
    "unknown-label": ("label: a}", "label: c}", "`tasks[0].label` is `c`"),
    "unknown-loss": ("label: a}", "label: a, loss: hinge}", "`tasks[0].loss` is `hinge`"),
    "epsilon-text": ("label: a}", "label: a, epsilon: 1e-4}", "write 1.0e-4"),
    "negative-output": ("output: 0", "output: -1", "`tasks[0].output` is -1"),
    "arguments": ("{n: 6}", "[6]", "`model.arguments` is [6]"),
    "model": ("{class: Net, arguments: {n: 6}}", "Net", "`model` is 'Net'"),
    "key-twice": ("  size: 6", "  size: 6\n  size: 7", "line 6 is not valid YAML (duplicate key 'size')"),
    "quote-in-name": ("name: p", "name: 'p\"q'", "`input.sparse[0].name` has quotes"),
    "line-break-in-name": ("name: p", 'name: "p\\nq"', "`input.sparse[0].name` has quotes, backslashes or line breaks"),
    "label-with-quotes": ("labels: [a, b]", 'labels: [a, \'"""\']', "give a list of at least one plain label name"),
    "line-break-in-key": ("version: 1", 'version: 1\n"x\\ny": 2', "unknown key `'x\\ny'`"),
    "huge-integer": ("  size: 6", "  size: " + "9" * 5000, "put it in quotes"),
    "large-integer": ("  size: 6", "  size: 99999999999", "larger than 2147483647"),
    "huge-weight": ("label: a}", "label: a, weight: 1" + "0" * 400 + "}", "is a huge number"),
    "infinite-weight": ("label: a}", "label: a, weight: .inf}", "`tasks[0].weight` is inf"),
    "epsilon-nan": ("label: a}", "label: a, epsilon: .nan}", "`tasks[0].epsilon` is nan"),
    "epsilon-negative": ("label: a}", "label: a, epsilon: -0.1}", "`tasks[0].epsilon` is -0.1"),
    "no-such-date": ("class: Net", "class: 2020-99-99", "put it in quotes"),
    "nested": (GOOD, "[" * 3000, "nested too deeply"),
    "itself": ("name: x", "name: &a {name: *a}", "recursive"),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_named(name: str) -> None:
    before, after, message = WRONG[name]
    assert before in GOOD
    with pytest.raises(MigrateError) as caught:
        parse_schema(GOOD.replace(before, after), "s.yaml")
    text = str(caught.value)
    assert text.startswith("s.yaml: ") and message in text and "\n" not in text


def test_aliases_that_unfold_without_end_cost_nothing() -> None:
    lines = ["- &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"- &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    bomb = "labels:\n" + "\n".join(f"  {line}" for line in lines)
    with pytest.raises(MigrateError, match="`labels` is list") as caught:
        parse_schema(GOOD.replace("labels: [a, b]", bomb), "s.yaml")
    assert len(str(caught.value)) < 200
