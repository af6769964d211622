"""Rules of the user: the example of the docs runs, all four kinds are asked, and a broken file is one sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from migrate.cli.main import cli
from migrate.errors import MigrateError
from migrate.report.model import State
from migrate.source.configuration.user_rules import read_rule_file, rules_of
from migrate.source.driver.convert_file import convert_text
from migrate.source.driver.run import convert_paths
from migrate.source.files.conversion_result import SourceResult
from migrate.source.rules import rules
from migrate.source.rules.base import Rule
from migrate.source.settings.options import Options, RuleFile
from migrate.source.settings.rule_selection import Selection
from tests.support.paths import ROOT
from tests.support.source.converting import HEAD, LOOKUP, MADE, reasons
from tests.support.source.projects import write

DOCS = ROOT / "docs" / "own-rules.md"
EXAMPLE = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)[0]
START = "from migrate.rules import *\n"
KINDS = (
    START
    + '''
@register
class Made(CreationRule):
    """d"""
    id = "own-creation"
    title = "t"
    symbols = frozenset({"acme.variable"})
    def read(self, file, call):
        creation = Creation(call, self.id, name=string(call.args[0].value))
        shape = read_shape(creation, file, call.args[1].value)
        creation.initializer = Initializer("tf.zeros_initializer()")
        return creation

@register
class Used(UseRule):
    """d"""
    id = "own-use"
    title = "t"
    def read(self, file, reference):
        around = file.tree.parent(reference)
        return Blocker(around, self.id, "own use", "own reason") if isinstance(around, cst.BinaryOperation) else None

@register
class Noted(FileRule):
    """d"""
    id = "own-file"
    title = "t"
    def remarks(self, file):
        yield Remark(file.tree.calls[0], self.id, State.NOTED, "own remark")

@register
class Gather(LookupRule):
    """d"""
    id = "own-gather"
    title = "t"
    symbols = frozenset({"gather"})
    def table(self, call):
        return call.args[0]
    def read(self, file, call):
        return Blocker(call, self.id, "own gather", "own reason")
'''
).replace("from migrate.rules import *\n", "import libcst as cst\nfrom migrate.rules import *\n")


def own(tmp_path: Path, text: str, source: str, **options: object) -> SourceResult:
    file = tmp_path / "own.py"
    file.write_text(text)
    result = convert_text("m.py", source, Options(rule_files=(read_rule_file(str(file)),), **options), {})  # type: ignore[arg-type]
    assert not [f for f in result.findings if f.state is State.FAILED], result.findings
    return result


def test_the_example_of_the_docs_runs(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(EXAMPLE)
    done = CliRunner().invoke(cli, ["rules", "test", str(file)])
    assert done.exit_code == 0, done.stdout
    assert "3 of 3 examples of 2 rules" in done.stderr
    file.write_text(EXAMPLE.replace('says="under audit"', 'says="something else"'))
    done = CliRunner().invoke(cli, ["rules", "test", str(file)])
    assert done.exit_code == 1
    assert "acme-frozen: frozen: no finding contains `something else`" in done.stdout
    page = CliRunner().invoke(cli, ["rules", "explain", "acme-lookup", "--rules", str(file)])
    assert "+ e = sparse_lookup(W, ids)" in page.stdout
    listed = CliRunner().invoke(cli, ["rules", "list", "--rules", str(file)])
    assert listed.stdout.startswith("acme-frozen ")


@pytest.mark.parametrize(
    "imported",
    ["from acme import layers", "import acme.layers as layers", "import acme\nlayers = acme.layers"],
)
def test_own_functions_are_found_however_imported(tmp_path: Path, imported: str) -> None:
    source = HEAD + imported + "\n" + MADE + "e = layers.lookup(W, ids)\nf = " + LOOKUP[4:]
    if imported.startswith("import acme\n"):
        source = source.replace("layers = acme.layers\n", "").replace("layers.lookup", "acme.layers.lookup")
    result = own(tmp_path, EXAMPLE, source)
    assert "e = sparse_lookup(W, ids)\nf = sparse_lookup(W, ids)\n" in result.converted
    plain = convert_text("m.py", source, Options(), {})
    assert not plain.changed, "without the rule the table is handed to a function that is not known"


def test_own_functions_are_found_in_a_program_of_several_files(tmp_path: Path) -> None:
    """No file of it has a word of a lookup that this package knows."""
    model = HEAD + "from acme import layers\nfrom tables import W\ne = layers.lookup(W, ids)\n"
    root = write(tmp_path / "p", {"tables.py": HEAD + MADE, "model.py": model})
    (tmp_path / "own.py").write_text(EXAMPLE)
    rules_file = read_rule_file(str(tmp_path / "own.py"))
    done = convert_paths([str(root)], Options(rule_files=(rules_file,)))
    texts = {one.source.relative.name: one.result.converted for one in done}
    assert "create_table(" in texts["tables.py"]
    assert "e = sparse_lookup(W, ids)" in texts["model.py"]
    assert not any(one.result.changed for one in convert_paths([str(root)], Options()))


def test_own_rules_are_selected_and_ignored_like_others(tmp_path: Path) -> None:
    source = HEAD + "from acme import layers\n" + MADE + "e = layers.lookup(W, ids)\n"
    assert not own(tmp_path, EXAMPLE, source, selection=Selection(ignore=("acme-lookup",))).changed
    commented = source.replace("ids)\n", "ids)  # migrate: ignore[acme-lookup] why\n")
    assert [f.state for f in own(tmp_path, EXAMPLE, commented).findings] == [State.NOTED]


def test_all_kinds_are_asked_before_those_of_this_package(tmp_path: Path) -> None:
    made = own(tmp_path, KINDS, HEAD + 'import acme\nW = acme.variable("u", [9, 4])\n' + LOOKUP)
    assert 'W = create_table(key_dtype=tf.int64, dim=4, name="u"' in made.converted
    assert "noted: own remark" in reasons(made)
    assert "unsupported: own use: own reason" in reasons(own(tmp_path, KINDS, HEAD + MADE + LOOKUP + "y = W + 1\n"))
    source = HEAD + MADE + LOOKUP + "g = tf.gather(W, ids)\n"
    assert "unsupported: own gather: own reason" in reasons(own(tmp_path, KINDS, source))
    assert convert_text("m.py", source, Options(), {}).changed


def test_own_rules_are_asked_for_their_files_alone(tmp_path: Path) -> None:
    own(tmp_path, KINDS, HEAD + MADE + LOOKUP)
    assert not [rule for rule in rules(Rule) if rule.id.startswith(("own-", "acme-"))]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = (", "line 1: SyntaxError: '(' was never closed"),
        ("import nothing_of_this_name", "line 1: ModuleNotFoundError: No module named"),
        ("raise SystemExit(3)", "line 1: SystemExit: 3"),
        ("x = 1\n", "registers no rule"),
        # Annotations are what they are in a file of its own, not texts as in this package.
        ("def f(x: int): ...\nassert f.__annotations__['x'] is int, 'text'\n", "registers no rule"),
        (START + "@register\nclass A(FileRule):\n    title = 't'\n", "line 2: a rule needs an `id`"),
        (START + "@register\nclass A(FileRule):\n    id = 'a-b'\n", "rule `a-b`: it has no `title`"),
        (START + "@register\nclass A(FileRule):\n    id = 'A b'\n    title = 't'\n", "its id must consist of"),
        (START + "@register\nclass A(Rule):\n    id = 'a-b'\n    title = 't'\n", "it has no known kind"),
        (START + "@register\nclass A(LookupRule):\n    id = 'a-b'\n    title = 't'\n", "it has no `symbols`"),
        (START + "@register\nclass A(FileRule):\n    id = 'tf-gather'\n    title = 't'\n", "two rules have the id"),
        (
            START + "@register\nclass A(FileRule):\n    id = 'a-b'\n    title = 't'\n    examples = ('x',)\n",
            "must be instances of `Example`",
        ),
        (
            START + "@register\nclass A(FileRule):\n    id = 'a-b'\n    title = 't'\n    applicability = 'exact'\n",
            "must be an `Applicability` or None",
        ),
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(MigrateError) as error:
        read_rule_file(str(tmp_path / "own.py"))
    assert says in str(error.value)
    assert str(error.value).startswith(f"{tmp_path}/own.py: ")
    assert "\n" not in str(error.value)


def test_a_rule_that_fails_is_named(tmp_path: Path) -> None:
    text = KINDS.replace("yield Remark(file.tree.calls[0]", "yield Remark(file.tree.none")
    (tmp_path / "own.py").write_text(text)
    options = Options(rule_files=(read_rule_file(str(tmp_path / "own.py")),))
    result = convert_text("m.py", HEAD + MADE + LOOKUP, options, {})
    assert [f.state for f in result.findings] == [State.FAILED]
    assert "own.py, line" in result.findings[0].message


def test_a_file_that_changes_in_use_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(EXAMPLE)
    file = read_rule_file(str(tmp_path / "own.py"))
    with pytest.raises(MigrateError, match="was changed while this command ran"):
        rules_of([RuleFile(file.path, "other")])
    with pytest.raises(MigrateError, match="another file also has a rule `acme-lookup`"):
        (tmp_path / "again.py").write_text(EXAMPLE + "\n")
        rules_of([file, read_rule_file(str(tmp_path / "again.py"))])
