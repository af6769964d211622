"""Code that cannot be followed: star imports, `getattr` on TensorFlow, dynamic imports."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.report.model import State
from migrate.source.flow import Holder
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import argument, is_none, string
from migrate.source.tensorflow.base.bindings import builtin, is_variable
from migrate.source.tensorflow.base.common_refusals import RUN_IT
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File, FileRule, Remark, about_tables, cached_query
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.example_parts import MODEL, MODEL_AFTER
from migrate.source.tensorflow.facts.calls.execution_count import repeated
from migrate.source.tensorflow.facts.references.evaluated_text import evaluates_given_text

EVAL = "builtins.eval"
DYNAMIC = {"importlib.import_module", "builtins.__import__", "builtins.exec"}
#: Functions that make variables.
MAKERS = {"get_variable", "Variable"}
#: Attributes of functions and frames that hold the values of names.
BEHIND = ("__defaults__", "__globals__", "__kwdefaults__", "cell_contents", "f_globals", "f_locals")
NAMESPACES = {"builtins.locals", "builtins.globals", "builtins.vars", EVAL, "builtins.exec"}
#: Functions that run a file: its names are those that they give it, and they return the names that it leaves.
RUNNING = {"runpy.run_path", "runpy.run_module"}
RUN = 'import runpy\nnames = runpy.run_path("more.py", {"ids": ids})\n'
SIZES = "sizes = eval(args.sizes)\n"


@register
class Opaque(FileRule):
    """Code whose effect is not known before the program runs is reported as a finding of its own."""

    id = "tf-opaque"
    title = "Code that cannot be analysed statically is reported"
    words = r"import\s*\(?\s*\*|getattr|import_module|__import__|\beval\b|\bexec\b|\brun_(path|module)\b"
    refusals = (
        Refusal(
            "computed-imports",
            "{shown} imports modules by a computed name",
            "what these modules do with variables is not analysed",
            "import them by statements, or convert with --assume",
            "what {shown} imports by a computed name does nothing with the tables",
        ),
        Refusal(
            "other-code",
            "`{text}` reads variables of other code",
            "it may reach a table without the name to which the table is bound",
            "name the variables directly",
        ),
        Refusal(
            "by-name",
            "`{text}` reads variables by name",
            "it may reach a table by its name as a string",
            "name the variables directly",
        ),
        Refusal(
            "run-with-names",
            "`{text}` runs code of a file",
            "names that are passed to that code, or taken from it, and further runs are not followed",
            f"import the file by a statement, {RUN_IT}",
        ),
        Refusal(
            "evaluated-text",
            "`{text}` evaluates a string as code",
            "it may reach a table by its name in the string",
            "read the value without eval, as by `ast.literal_eval`; or convert with --assume",
            "the string that `{text}` evaluates names no table and makes none",
        ),
    )
    examples = (
        Example("star import", "from tensorflow import *\nW = get_variable('w', [9, 4])\n", says="`*`"),
        Example(
            "a star beside the import of what makes tables",
            "from keras.layers import *\nfrom keras.layers import Embedding\nEmbedding(9, 4)\n",
        ),
        Example("getattr", 'import tensorflow as tf\nmake = getattr(tf, "get_variable")\n', says="getattr"),
        Example(
            "`eval` of an option, with --assume",
            MODEL + SIZES,
            MODEL_AFTER + SIZES,
            says="names no table",
            assume=True,
        ),
        Example("not without --assume", MODEL + SIZES, says="evaluates a string as code"),
        Example(
            "`eval` of a name that the program composes", MODEL + 'V = eval("W" + kind)\n', says="by name", assume=True
        ),
        Example("names from a file that is run", MODEL + RUN, says="or taken from it"),
        Example("dynamic import", 'import importlib\nimport tensorflow\ntf = importlib.import_module("tensorflow")\n'),
    )

    def remarks(self, file: File) -> Iterator[Remark]:
        for statement, names in _starred(file):
            text, listed = file.tree.source(statement), ", ".join(f"`{name}`" for name in names)
            reason = f"{listed} may be one of them, and a table that it makes or reads is not seen"
            yield self._remark(statement, f"`{text}` imports names by `*`", reason, "import the names one by one")
        for call, name in _qualified_calls(file):
            yield from self._call(file, call, name)

    def _call(self, file: File, call: cst.Call, name: str) -> Iterator[Remark]:
        if name not in {"builtins.getattr", EVAL} and name not in DYNAMIC:
            return
        text = file.tree.one_line(call)
        if name == EVAL:
            message, reason = f"`{text}` evaluates a string as code", "what the string names is not followed"
            yield Remark(call, self.id, State.NOTED, message, reason, "read a value by `ast.literal_eval`")
        if name == "builtins.getattr" and call.args and file.names.is_module(call.args[0].value):
            message = f"`{text}` reaches TensorFlow through getattr"
            yield self._remark(call, message, "the symbol is selected at run time", "write the name of the symbol")
        if name in DYNAMIC:
            module = string(call.args[0].value) if call.args else None
            if name == "importlib.import_module" and module is not None and not module.startswith("tensorflow"):
                return
            values = flow_of(file).values(call)
            if values and all(isinstance(one, Holder) and one.kind == "module" for one in values):
                return  # modules of the project: `import_module("models." + name)`
            message = f"`{text}` runs code that is not in this file"
            yield self._remark(call, message, "the names that it defines are not known", "use an import statement")

    def blockers(self, file: File) -> Iterator[Blocker]:
        for call, name in _qualified_calls(file):
            if name in RUNNING and not _runs_alone(file, call):
                yield blocker(call, self.id, "run-with-names", text=file.tree.one_line(call))
            if name not in NAMESPACES or (call.args and _other_object(call)):
                continue
            if name == EVAL and evaluates_given_text(file, call):
                yield blocker(call, self.id, "evaluated-text", text=file.tree.one_line(call))
            else:
                yield blocker(call, self.id, "by-name", text=file.tree.source(call.func))
        for use in (one for name in ("eval", "exec") for one in file.tree.names.get(name, ())):
            if file.tree.call_of(use) is None and builtin(file.tree, use):
                yield blocker(use, self.id, "by-name", text=use.value)  # it is handed on
        for node in (one for name in BEHIND for one in file.tree.attributes.get(name, ())):
            if not file.tree.is_target(node):
                text = file.tree.one_line(node)
                yield blocker(node, self.id, "other-code", text=text)

    def _remark(self, node: cst.CSTNode, message: str, reason: str, action: str) -> Remark:
        return Remark(node, self.id, State.OPAQUE, message, reason, action)


def _starred(file: File) -> Iterator[tuple[cst.ImportFrom, list[str]]]:
    """Yield the star imports of code outside, and the names that only these can bind and that are named for tables."""
    if not (stars := [one for one in file.tree.stars if _is_outside(file, one)]):
        return
    names = [name for name in file.tree.names if name in MAKERS or about_tables().search(name)]
    if unbound := sorted(name for name in names if any(_is_unbound(file, use) for use in file.tree.names[name])):
        yield from ((star, unbound) for star in stars)


def _is_outside(file: File, star: cst.ImportFrom) -> bool:
    """True unless all names that it imports are those of other files of the project."""
    return file.tree.link is None or file.tree.link.hides(file.tree.source(star))


def _is_unbound(file: File, use: cst.Name) -> bool:
    """True for a name that is read, and that neither this file nor a file of the project binds."""
    return is_variable(file.tree, use) and file.tree.linked_names(use) == (frozenset(), False)


@cached_query
def _qualified_calls(file: File) -> list[tuple[cst.Call, str]]:
    """Return the calls of a file with the qualified names of their callees."""
    return [(call, qualified(file, call)) for call in file.tree.calls]


def qualified(file: File, call: cst.Call) -> str:
    """Return the qualified name of the callee, built-ins included; empty when it is not unique."""
    names = file.tree.qualified_names(call.func)
    return names.pop() if len(names) == 1 else ""


def _runs_alone(file: File, call: cst.Call) -> bool:
    """True for the only run of a file, which gets no names and whose own nothing takes."""
    runs = [name for _, name in _qualified_calls(file) if name in RUNNING]
    named = any(arg.star for arg in call.args) or not is_none(argument(call, "init_globals", 1))
    return isinstance(file.tree.parent(call), cst.Expr) and not named and len(runs) == 1 and not repeated(file, call)


def _other_object(call: cst.Call) -> bool:
    """True for `vars(args)`: the attributes of some object, not the names of this scope."""
    return isinstance(call.func, cst.Name) and call.func.value == "vars"
