"""Which files of a project are judged together: those that make, read or train variables and may run in one program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from migrate.source.project.discovery import FRAMEWORKS
from migrate.source.project.import_graph import Project

FRAMEWORK = re.compile("|".join(FRAMEWORKS))
#: A layer that is called in a v1 graph.
CALLED = r"\A(?=[\s\S]*\b(Session|\w*placeholder|EstimatorSpec|disable_(eager|v2)\w+)\b)[\s\S]*\bEmbedding\s*\("
MAKES = re.compile(rf"get_variable|\bVariable\s*\(|add_weight|embedding_column|{CALLED}")
READS = re.compile(
    r"embedding_lookup|gather|one_hot|sparse_dense_matmul|sparse_tensor_dense_matmul|sparse\s*\.\s*matmul"
    rf"|input_layer|DenseFeatures|SequenceFeatures|Classifier|Regressor|{CALLED}"
)
#: Words of code that a table may depend on, or that may depend on a table.
CONCERNS = re.compile(
    rf"{MAKES.pattern}|{READS.pattern}|minimize|apply_gradients|compute_gradients|initializer|gradients\s*\(|Saver"
    r"|Cluster|train\s*\.\s*Server|Strategy|(trainable|global|all|model)_variables|get_collection|checkpoint|warm_start"
    r"|convert_variables|enable_eager|GradientTape|MovingAverage|import_meta_graph|import_graph_def|make_template"
    r"|Session|Estimator|creator_scope|\bpatch|setattr|create_train_op|optimize_loss|TF_CONFIG|Optimizer"
    r"|variable_scope|enter_context|map_fn|while_loop|\bscan\b|\bfold[lr]\b|vectorized_map|_rnn\b|seq2seq|py_func"
    r"|RNNCell|custom_gradient|recompute_grad|numpy_function|_by_name\b|as_graph_element|get_variable_value|load_variable"
    r"|Reader\b|:0|freeze_graph|TFLite|toco|TrtGraph|create_inference_graph|horovod|byteps|bluefog|\btpu\b"
    r"|Exporter|ExportStrategy|export_(strategy|saved_?model|meta_graph|all)|saved_model|simple_save|write_graph"
)
#: Layers that hold a table, and what may train, store, read or compare them.
LAYERS = re.compile(r"\bEmbedding\b")
CONCERNS_LAYERS = re.compile(
    rf"{LAYERS.pattern}|\bcompile\s*\(|[oO]ptimizer|GradientTape|apply_gradients|\b(non_)?(trainable_)?(variables|weights)\b"
    r"|\.embeddings\b|[gs]et_weights|\bsave|load_(model|weights)|saved_model|clone_model|ModelCheckpoint|restore_best"
    r"|Strategy|jit_compile|set_floatx|TimeDistributed|Bidirectional|\bWrapper\b|convert_to_tensor|Session|placeholder"
    r"|Estimator|disable_(eager|v2)|migrate:\s*ignore"
)
#: What a text reads of objects: attributes, and strings that may be keys or names of attributes.
ATTRIBUTE = re.compile(r"\.[ \t]*([^\W\d]\w*)|[\"']([^\W\d]\w*)[\"']")
#: What a text gives a value to: names, attributes and keys, also one of several.
ASSIGNED = re.compile(r"([^\W\d]\w*)[\"'\])]*[ \t]*[=,:]")
#: Code that reaches attributes of an object without their names.
REFLECTS = re.compile(r"\b__dict__\b|\bvars\s*\(|getmembers|attrgetter|__getattr|\b[gs]etattr\s*\(")
#: Beyond this many characters the files of one program are judged one by one.
LIMIT = 2_000_000


@dataclass(frozen=True)
class Words:
    """By which words a text shows that it makes what becomes tables, reads it, or has anything to do with it."""

    makes: re.Pattern[str]
    reads: re.Pattern[str]
    concerns: re.Pattern[str]  #: of these, the files that are judged together
    handed: bool  #: other files may concern it as well, by what they are handed


VARIABLES = Words(MAKES, READS, CONCERNS, handed=True)
KERAS = Words(LAYERS, LAYERS, CONCERNS_LAYERS, handed=False)


class Programs:
    """Who may run together: two files that some file of the project imports, directly or through others."""

    def __init__(self, project: Project, words: Words = VARIABLES) -> None:
        """Take the project, and what its files are judged by; nothing is read yet."""
        self.project = project
        self.words = words
        self._entries: dict[str, frozenset[str]] = {}
        self._units: dict[str, tuple[str, ...]] | None = None
        self._crowded: set[str] = set()
        self._concerned_of: dict[str, frozenset[str]] = {}
        self._reads: dict[str, frozenset[str]] = {}
        self._writes: dict[str, frozenset[str]] = {}

    @cached_property
    def concerned(self) -> frozenset[str]:
        """The files that have to do with variables, by their words."""
        if len(self.project.files) < 2:
            return frozenset()
        # Most files of a repository fail the first question, which is much the cheaper one.
        found = [p for p in self.project.files if self._is_framework(p) and self._concerns(p)]
        if not any(self.project.holds(path, self.words.makes) for path in found):
            return frozenset()
        return frozenset(found)

    def _is_framework(self, path: str) -> bool:
        """True for a file that may have to do with a framework: it names one, or others of the project run with it."""
        return self.project.holds(path, FRAMEWORK) or bool(self.project.edges(path)) or path in self._importers

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for path in self.project.files:
            for imported in self.project.edges(path):
                found.setdefault(imported, set()).add(path)
        return found

    def entries(self, path: str) -> frozenset[str]:
        """Return the files whose import brings `path` in, itself included; a package alone is no program."""
        if path not in self._entries:
            found, pending = {path}, [path]
            while pending:
                new = self._importers.get(pending.pop(), set()) - found
                found |= new
                pending += new
            packages = {p for p in found if p != path and self.project.modules.is_package(p)}
            self._entries[path] = frozenset(found - packages)
        return self._entries[path]

    def related(self, first: str, second: str) -> bool:
        """True when one program may run both files."""
        return first == second or not self.entries(first).isdisjoint(self.entries(second))

    def unit(self, path: str) -> tuple[str, ...]:
        """Return the files that are judged with `path`, in order; only itself when nothing connects it."""
        if self._units is None:
            self._units = {member: unit for unit in self._connected() for member in unit}
        return self._units.get(path, (path,))

    def _connected(self) -> Iterator[tuple[str, ...]]:
        """Yield the groups of concerned files that share programs, where a variable is made and one is read."""
        group: dict[str, str] = {}

        def root(name: str) -> str:
            while group.setdefault(name, name) != name:
                group[name] = group[group[name]]
                name = group[name]
            return name

        for path in self.concerned:
            for entry in self.entries(path):
                group[root(path)] = root(f"entry:{entry}")
        units: dict[str, list[str]] = {}
        for path in self.project.files:
            if path in self.concerned:
                units.setdefault(root(path), []).append(path)
        for unit in units.values():
            whole = len(unit) > 1 and all(self._any_holds(unit, one) for one in (self.words.makes, self.words.reads))
            if whole and sum(len(self.project.text(path)) for path in unit) <= LIMIT:
                yield tuple(unit)
            elif whole:
                self._crowded |= set(unit)

    def _any_holds(self, paths: Sequence[str], words: re.Pattern[str]) -> bool:
        return any(self.project.holds(path, words) for path in paths)

    def is_crowded(self, path: str) -> bool:
        """True for a file that is judged alone because too much text would be judged with it."""
        self.unit(path)
        return path in self._crowded

    @cached_property
    def _open(self) -> tuple[str, ...]:
        """The files that import what may be any module, where code that concerns variables runs with them."""
        found = [one for one in self.project.files if any(call.open for call in self.project.by_text(one))]
        return tuple(one for one in found if self._concerns(one) or any(map(self._brought, self.entries(one))))

    def _concerns(self, path: str) -> bool:
        return self.project.holds(path, self.words.concerns)

    def opened(self, path: str) -> tuple[str, ...]:
        """Return the files that import what may be any module, and so `path` or code that runs with it."""
        mine = any(call.open for call in self.project.by_text(path))
        return self._open if path in self._open or not mine else (*self._open, path)

    def around(self, path: str) -> frozenset[str]:
        """Return the concerned files whose verdicts may speak of `path`.

        That is itself, those that it imports, and those that run with it and set an attribute or key that it reads:
        what is handed a model need not import it.
        """
        if not self.concerned or path not in self.project.files:
            return frozenset()
        if path in self.concerned:
            return frozenset([path])
        if not self.words.handed:
            return frozenset()
        read = self._read(path)
        others = [one for one in self._beside(path) if read and not read.isdisjoint(self._assigned(one))]
        return (self.project.closure(path) & self.concerned).union(others)

    def _beside(self, path: str) -> frozenset[str]:
        """Return the concerned files that may run in one program with `path`."""
        return frozenset(one for entry in self.entries(path) for one in self._brought(entry))

    def _brought(self, entry: str) -> frozenset[str]:
        if entry not in self._concerned_of:
            self._concerned_of[entry] = self.project.closure(entry) & self.concerned
        return self._concerned_of[entry]

    def _read(self, path: str) -> frozenset[str]:
        """Return the attributes and strings that the text of a file mentions."""
        if path not in self._reads:
            self._reads[path] = frozenset(a or b for a, b in ATTRIBUTE.findall(self.project.text(path)))
        return self._reads[path]

    def _assigned(self, path: str) -> frozenset[str]:
        """Return the names, attributes and keys that a file which makes variables gives a value to."""
        if path not in self._writes:
            text = self.project.text(path)
            makes = self.project.holds(path, self.words.makes)
            self._writes[path] = frozenset(ASSIGNED.findall(text) if makes else ())
        return self._writes[path]

    def users(self, unit: Sequence[str], words: set[str], handed: set[str]) -> tuple[str, ...]:
        """Return the other files that may reach the tables of a unit.

        A file that imports one of the unit may do so by one of `words`, the names of tables and of what makes them; any
        other that runs with it by one of `handed`, the attributes and keys under which an object holds a table, or by
        code that reaches attributes without their names.
        """
        if not words:
            return ()
        entries = {entry for path in unit for entry in self.entries(path)}
        beside = {one for entry in entries for one in self.project.closure(entry)} - set(unit)
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(words)))})\b")
        found = []
        for path in self.project.files:
            if path in entries and path not in unit:
                uses = pattern.search(self.project.text(path)) is not None
            else:
                uses = path in beside and not self._read(path).isdisjoint(handed)
            if handed and not uses and path in beside:
                uses = self.project.holds(path, REFLECTS)
            if uses:
                found.append(path)
        return tuple(found)

    def may_be_used(self, path: str) -> bool:
        """True for a file that makes and looks up variables and runs with others, which may use them."""
        others = len(self.entries(path)) > 1 or len(self.project.closure(path)) > 1
        return others and self.project.holds(path, self.words.makes) and self.project.holds(path, self.words.reads)

    def group(self, path: str) -> str:
        """Return a name that files have in common which are judged together; empty when it is judged alone."""
        return min((min(self.unit(member)) for member in self.around(path)), default="")

    def dependencies(self, path: str) -> tuple[str, ...]:
        """Return the other files whose texts may change the verdicts on `path`."""
        around = self.around(path)
        if not around:
            return tuple(sorted((self.entries(path) | self.project.closure(path)) - {path}))
        members = {one for member in around for one in self.unit(member)} | {path}
        entries = {entry for member in members for entry in self.entries(member)}
        return tuple(sorted({one for entry in entries for one in self.project.closure(entry)} - {path}))


def programs_of(project: Project, words: Words = VARIABLES) -> Programs:
    """Return the programs of a project, found once."""
    found = project.memory.setdefault(words.makes.pattern, Programs(project, words))
    assert isinstance(found, Programs)
    return found


def group_of(project: Project, path: str) -> str:
    """Return a name that files have in common which one process should convert, because they are judged together."""
    groups = [programs_of(project, words).group(path) for words in (VARIABLES, KERAS)]
    return next((one for one in groups if one not in {"", path}), path)


def dependencies_of(project: Project, path: str) -> tuple[str, ...]:
    """Return the other files whose texts may change the verdicts on `path`."""
    return tuple(
        sorted({one for words in (VARIABLES, KERAS) for one in programs_of(project, words).dependencies(path)})
    )


def is_judged_with_others(project: Project, path: str) -> bool:
    """True for a file of which the verdicts on other files may speak."""
    return any(programs_of(project, words).around(path) for words in (VARIABLES, KERAS))
