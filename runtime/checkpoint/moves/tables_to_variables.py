"""Converts a checkpoint of tables to one of variables: the row of key i becomes row i, with its slots; back again.

Rows go through a file that is as large as the variable, so memory does not grow with it.
"""

from __future__ import annotations

import math
import mmap
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from runtime import _tf_private
from runtime.checkpoint.blocks import BlockReader, BlockWriter
from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.checkpoint.meta_layout import layout_of
from runtime.checkpoint.moves.first_rows import FirstRows
from runtime.checkpoint.row_layout import stated
from runtime.checkpoint.rows import TableRows as Rows
from runtime.checkpoint.rows import part_names, slot_names
from runtime.checkpoint.variable_names import find_slots, v1_slot_names
from runtime.native.base_keys import FIRST_BASE_KEY, are_base_keys
from runtime.native.update_rules import UPDATE_RULES, sets_of

_POWER = re.compile(r"(.*/)?(beta[12]_power)")
#: In the original, a second Adam numbers its counters.
_WANTED_POWER = re.compile(r"(.*/)?(beta[12]_power)(_\d+)?")
_BLOCK_ROWS = 1 << 16
#: Ids outside of a variable that are listed.
_SHOWN = 5


@dataclass(frozen=True)
class Back:
    """A table of a checkpoint, and the variable that it becomes: of the shape that `like` has, or of `shape`."""

    table: str
    variable: str
    shape: tuple[int, ...] | None = None
    parts: int = 1  #: number of partitions with ids spread by `mod`, as in `Move`
    #: Whether a table whose ids gave up their buckets gives the rows of these, and ids with rows of their own stay out.
    bucket_rows: bool = False


@dataclass
class MovedBack:
    """The result of one `Back`: rows of the variable, how many of them the table had, slots, and ids without a row."""

    back: Back
    rows: int
    dim: int
    slots: tuple[str, ...]
    known: int = 0
    outside: int = 0  #: ids of the table that are no row of the variable
    of_buckets: int = 0  #: rows of buckets that the table's ids gave up
    apart: int = 0  #: ids that gave up their buckets and have rows of their own, which are left out
    first_outside: list[int] = field(default_factory=list)  #: the first of them in the checkpoint


def move_tables(
    source: str | Path, target: str | Path, backs: Sequence[Back], like: str | Path | None = None
) -> list[MovedBack]:
    """Write the checkpoint `target`: that of `source` with variables in place of its tables.

    A row that the table does not have is what the table would give for it, with the initial values of slots. All other
    tensors are copied. `like` is a checkpoint of the program that is to restore `target`: then `target` gets exactly
    its tensors, with their shapes.

    Raises:
        CheckpointError: a checkpoint or a table is missing, what new rows begin with is unknown but needed, `like` has
            a tensor that `source` has no value for, or ids gave up their buckets and no `bucket_rows` are asked for.
    """
    bundle = Bundle(source)
    if _tf_private.OBJECT_GRAPH_KEY in bundle:
        raise CheckpointError(
            f"{bundle.path} is object-based (from tf.train.Checkpoint or Keras): read the rows in the program "
            "that saved it, by table.snapshot(), and assign them to the variable"
        )
    wanted = None if like is None else Bundle(like)
    reader, done, taken, written = BlockReader(bundle), [], set[str](), set[str]()
    with BlockWriter(target) as writer:
        for back in backs:
            table = _Table(reader, back, wanted)
            done.append(table.write(writer))
            taken |= {*table.parts.values(), back.table}
            written |= table.written
        rest = [name for name in bundle.shapes if name not in taken | written]
        for name, old in _others(bundle, rest, wanted, written).items():
            writer.copy(reader, old, name)
    return done


def _others(bundle: Bundle, rest: Sequence[str], wanted: Bundle | None, written: set[str]) -> dict[str, str]:
    """Return the tensors to copy: new name -> old name. Two Adams count alike, one for tables and one for the rest."""
    powers: dict[str, list[str]] = {}
    for name in rest:
        if match := _POWER.fullmatch(name):
            powers.setdefault(match[2], []).append(name)
    if wanted is None:
        kept = {name: name for name in rest if not _POWER.fullmatch(name)}
        return kept | {power: _one_of(bundle, names) for power, names in powers.items()}
    copied = {}
    for name, shape in wanted.shapes.items():
        if name in written:
            continue
        match = _WANTED_POWER.fullmatch(name)
        old = name if name in rest else _one_of(bundle, powers[match[2]]) if match and match[2] in powers else None
        if old is None:
            raise CheckpointError(
                f"{wanted.path} holds `{name}` of shape {shape}, but {bundle.path} has no value for it: give another "
                "`like`, or none"
            )
        if list(bundle.shapes[old]) != list(shape):
            raise CheckpointError(
                f"`{name}` has shape {bundle.shapes[old]} in {bundle.path} but {shape} in {wanted.path}: they are not "
                "checkpoints of one model"
            )
        copied[name] = old
    return copied


def _one_of(bundle: Bundle, names: Sequence[str]) -> str:
    if len({float(bundle.read(name)) for name in names}) > 1:
        raise CheckpointError(
            f"{bundle.path} has different step counts in {', '.join(sorted(names))}: the table and the other "
            "variables were trained by different Adam optimizers, and one variable cannot continue both"
        )
    return min(names, key=len)


class _File:
    """Rows [rows, width] of float32 in a file, of which little is in memory."""

    def __init__(self, path: Path, rows: int, width: int) -> None:
        size = max(rows * width, 1) * np.dtype(np.float32).itemsize
        with path.open("wb+") as file:
            file.truncate(size)
            self._mapped = mmap.mmap(file.fileno(), size)
        self.rows = np.frombuffer(self._mapped, np.float32)[: rows * width].reshape(rows, width)

    def read(self, at: int, columns: slice) -> NDArray[np.float32]:
        """Return a copy of a block of rows."""
        block = self.rows[at : at + _BLOCK_ROWS, columns].copy()
        self.leave()
        return block

    def leave(self) -> None:
        """Let the system keep what is in memory in the file alone."""
        self._mapped.madvise(mmap.MADV_DONTNEED)


class _Table:
    """One table, and the variable and slots that are written for it."""

    def __init__(self, reader: BlockReader, back: Back, like: Bundle | None) -> None:
        self._reader, self._back, bundle = reader, back, reader.bundle
        self.parts = part_names(bundle, back.table)
        meta = bundle.read(self.parts["meta"])
        none = np.zeros([0, int(meta[2])], np.float32)
        empty = np.zeros([0, bundle.shapes[self.parts["slots"]][1]], np.float32)
        self._head = Rows(np.zeros([0], np.int64), none, empty, meta)
        self._buckets = layout_of(meta).buckets
        self._shape = self._wanted_shape(like)
        self._slots = self._slot_tensors(like)
        #: The names of the tensors that are written.
        self.written = {back.variable, *self._slots.values()}

    def _wanted_shape(self, like: Bundle | None) -> tuple[int, ...]:
        back, dim = self._back, self._head.dim
        shape = back.shape
        if like is not None:
            if back.variable not in like:
                raise CheckpointError(f"{like.path} holds no variable `{back.variable}`: {like.near(back.variable)}")
            shape = tuple(like.shapes[back.variable])
        if shape is None:
            raise CheckpointError(
                f"the number of rows of `{back.variable}` is not known: give `like`, a checkpoint of the original"
            )
        if not shape or math.prod(shape[1:]) != dim:
            raise CheckpointError(
                f"`{back.variable}` has shape {list(shape)}, but the table `{back.table}` has rows of {dim} values: "
                "name another variable"
            )
        return shape

    def _slot_tensors(self, like: Bundle | None) -> dict[str, str]:
        """Return slot -> tensor for the optimizer that trained the table; those of `like` have the names there."""
        rule, variable, slots = self._head.optimizer, self._back.variable, slot_names(self._head)
        if len(sets_of(kind := int(self._head.meta[4]))) > 1 or kind not in UPDATE_RULES:
            raise CheckpointError(
                f"the table `{self._back.table}` has slots of several optimizers, {rule}, which cannot be "
                "written as slots of a variable: read its rows in the converted program by table.snapshot(), "
                "and assign them"
            )
        known = stated(self._reader.bundle, self._back.table) if like is None else {}
        if len(known) == len(slots) + 1 and known[0][0] == variable:
            return {slot: known[1 + at][0] for at, slot in enumerate(slots)}
        if like is None:
            return dict(zip(slots, v1_slot_names(variable, rule, slots), strict=True))
        names = find_slots(like, variable, rule, slots) if slots else {}
        if slots and not names:
            raise CheckpointError(
                f"{like.path} holds no slots of `{variable}` for the optimizer {rule} of {self._reader.bundle.path}: "
                "give a checkpoint of the original after its first step"
            )
        return names

    def write(self, writer: BlockWriter) -> MovedBack:
        """Write the variable and its slots."""
        rows, dim = self._shape[0], self._head.dim
        names = {self._back.variable: 0, **{self._slots[slot]: 1 + at for at, slot in enumerate(self._ordered())}}
        done = MovedBack(self._back, rows, dim, tuple(self._ordered()))
        with tempfile.TemporaryDirectory(dir=Path(writer.path).parent, prefix=".rows-") as folder:
            whole = _File(Path(folder) / "rows", rows, dim * len(names))
            present = np.zeros([rows], np.bool_)
            self._fill(whole, present, done)
            done.known = int(present.sum())
            self._check_apart(done)
            self._begin(whole, present)
            for name, at in names.items():
                columns = slice(at * dim, (at + 1) * dim)
                blocks = (whole.read(at, columns) for at in range(0, max(rows, 1), _BLOCK_ROWS))
                writer.add_blocks(name, self._shape, (one.reshape(len(one), *self._shape[1:]) for one in blocks))
        return done

    def _ordered(self) -> list[str]:
        return [slot for slot in slot_names(self._head) if slot in self._slots]

    def _fill(self, whole: _File, present: NDArray[np.bool_], done: MovedBack) -> None:
        """Put the rows of the table where they belong."""
        rows, width = len(present), whole.rows.shape[1]
        own = np.zeros([rows], np.bool_)  # these have no need of the row of a bucket
        parts = ("keys", "values", "slots")
        streams = (self._reader.blocks(self.parts[part], _BLOCK_ROWS) for part in parts)
        for keys, values, slots in zip(*streams, strict=True):
            ids, of_bucket, apart = self._divided(keys)
            done.apart += int(apart.sum())
            done.of_buckets += int(of_bucket.sum())
            inside = (ids >= 0) & (ids < rows)
            outside = ids[~inside & ~apart]
            done.outside += len(outside)
            done.first_outside += outside[: _SHOWN - len(done.first_outside)].tolist()
            for number, kind in enumerate((~of_bucket, of_bucket)):
                at = np.flatnonzero(inside & ~apart & kind)
                places = _places(ids[at], rows, self._back.parts)
                if number:  # the row of a bucket is only for who has none of its own
                    at, places = at[~own[places]], places[~own[places]]
                else:
                    own[places] = True
                whole.rows[places, : values.shape[1]] = values[at]
                whole.rows[places, values.shape[1] :] = slots[at, : width - values.shape[1]]
                present[places] = True
            whole.leave()

    def _divided(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the rows that keys are, which of them are rows of buckets, and which keys are no row of a variable."""
        of_bucket = are_base_keys(keys)
        if self._buckets is None:
            if of_bucket.any():
                raise CheckpointError(
                    f"{self._reader.bundle.path} was saved by an earlier version, and does not say which "
                    f"buckets the ids of the table `{self._back.table}` had: restore it in the converted "
                    "program, and give the checkpoint that this program saves next"
                )
            return keys, of_bucket, of_bucket
        apart = ~of_bucket & ~((keys >= 0) & (keys < self._buckets.start))
        return np.where(of_bucket, keys - FIRST_BASE_KEY, keys), of_bucket, apart

    def _check_apart(self, done: MovedBack) -> None:
        """Refuse to leave out rows of ids, unless that is asked for and there are rows of their buckets."""
        if not done.apart or (done.of_buckets and self._back.bucket_rows):
            return
        remedy = "give --bucket-rows to leave them out and write the rows of the buckets"
        raise CheckpointError(
            f"the ids of the table `{self._back.table}` have rows of their own, in place of buckets, and {done.apart} "
            "of these rows do not fit into a variable: "
            + (remedy if done.of_buckets else "go on from a checkpoint of before forget_base")
        )

    def _begin(self, whole: _File, present: NDArray[np.bool_]) -> None:
        """Let the rows that the table does not have begin as the table would let them begin."""
        if present.all():
            return
        dim, count = self._head.dim, len(self._ordered())
        words = self._head.meta[5 : 5 + count].astype(np.uint32)
        starts = np.repeat(words.view(np.float32), dim)
        first = FirstRows(self._reader.bundle.path, self._back.table, self._head.meta, int((~present).sum()))
        ids = partition_ids(len(present), self._back.parts)
        for at in range(0, len(present), _BLOCK_ROWS):
            missing = at + np.flatnonzero(~present[at : at + _BLOCK_ROWS])
            if len(missing):
                whole.rows[missing, :dim] = first.of(ids[missing])
                whole.rows[missing, dim:] = starts
                whole.leave()


def partition_ids(rows: int, parts: int) -> NDArray[np.int64]:
    """Return the id of each row of a variable whose partitions (the first ones a row longer) are concatenated."""
    sizes = [rows // parts + (part < rows % parts) for part in range(parts)]
    return np.concatenate([part + parts * np.arange(size, dtype=np.int64) for part, size in enumerate(sizes)])


def _places(ids: NDArray[np.int64], rows: int, parts: int) -> NDArray[np.int64]:
    """Return the row of each id in such a variable."""
    part = ids % parts
    places: NDArray[np.int64] = part * (rows // parts) + np.minimum(part, rows % parts) + ids // parts
    return places
