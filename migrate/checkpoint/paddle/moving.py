"""Moves a Paddle model's weights and optimizer slots to a checkpoint of the converted folder, and back."""

from __future__ import annotations

import os
import pickle
import subprocess
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from migrate.checkpoint.latest import write_latest
from migrate.checkpoint.paddle.slot_names import full_key, slot_keys
from migrate.checkpoint.paddle.state_file import NAMES, SCHEDULE, read_state, write_state
from migrate.errors import MigrateError
from migrate.own_python import module_command
from migrate.scratch import scratch_folder

_WEIGHTS, _SLOTS = ".pdparams", ".pdopt"
_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "0"}
_TAIL = 12


def is_back(new: str) -> bool:
    """Return whether Paddle's files are to be written."""
    return new.endswith(_WEIGHTS)


def move(old: str, new: str, converted: str, data: str | None, like: str | None, force: bool) -> list[str]:
    """Write NEW, for the other program; return sentences about what was done.

    Args:
        old: a `.pdparams` file or the folder with it, or the prefix of a checkpoint if `new` is a `.pdparams` file.
        new: the prefix of the checkpoint, or the file.
        converted: folder that `migrate convert` wrote.
        data: the folder that the configuration's paths of data start from; None: `converted`.
        like: on the way back, a `.pdparams` file of the original.
        force: overwrite `new`.

    Raises:
        MigrateError: a file is missing or does not fit, or `new` exists.
    """
    folder = Path(converted).resolve()
    if not (folder / "dygraph_model.py").is_file():
        raise MigrateError(f"{converted}: has no dygraph_model.py; give the folder that `migrate convert` wrote")
    job = {"folder": str(folder), "data": str(Path(data).resolve()) if data else str(folder), "source": old}
    existing = Path(new if is_back(new) else new + ".index")
    if existing.exists() and not force:
        raise MigrateError(f"{existing} already exists; give another NEW, or --force to overwrite it")
    try:
        return _back(job, old, new, like) if is_back(new) else _there(job, old, new)
    except OSError as error:
        raise MigrateError(f"{new}: cannot be written ({error.strerror}); give another NEW") from error


def _there(job: dict[str, Any], old: str, new: str) -> list[str]:
    path = _file(old)
    weights = read_state(path)
    beside = path.with_suffix(_SLOTS)
    slots, strange, count = _slots_of(beside, weights) if beside.exists() else (None, [], None)
    job |= {"weights": {key: value for key, value in weights.items() if key != NAMES}}
    job |= {"slots": slots, "strange": strange, "count": count, "source": str(path)}
    place = Path(new)
    with _scratch(place) as scratch:
        done = _run(job | {"target": str(scratch / place.name)}, scratch)
        place.parent.mkdir(parents=True, exist_ok=True)
        for part in sorted(scratch.glob(f"{place.name}.*"), key=lambda file: file.suffix == ".index"):  # the index last
            part.replace(place.parent / part.name)
        write_latest(place, scratch)
    lines = [f"{done['weights']} weights of {path}"]
    if slots is None:
        lines.append(f"no {beside.name} beside it: the optimizer starts with new slots")
    else:
        lines.append(f"{len(slots)} slots of {beside}")
        lines += [f"`{one}` has no slots: they start from their initial values" for one in done["new"]]
    return [*lines, *_loose(done, strange)]


def _slots_of(path: Path, weights: Mapping[str, Any]) -> tuple[dict[tuple[str, str], Any], list[str], int | None]:
    """Return the slots of a `.pdopt` file, keys of parameters without a path, and the count of the schedule."""
    entries = read_state(path)
    keys, strange = slot_keys(entries, weights, path)
    slots = {}
    for key, (weight, slot) in keys.items():
        if slot == "mean_grad" and not entries[key].any():
            continue  # kept by every RMSProp, used by a centered one
        slots[weight, slot] = entries[key]
    schedule = entries.get(SCHEDULE)
    if schedule is not None and not isinstance(schedule.get("last_epoch"), int):
        raise MigrateError(f"{path}: {SCHEDULE} has no last_epoch; save it with paddle.save(optimizer.state_dict())")
    return slots, strange, None if schedule is None else schedule["last_epoch"]


def _back(job: dict[str, Any], old: str, new: str, like: str | None) -> list[str]:
    if like is None:
        raise MigrateError(
            f"{new}: Paddle names slots by its own numbering; give --like a {_WEIGHTS} file of the original"
        )
    model = _file(like)
    original = read_state(model)
    beside = model.with_suffix(_SLOTS)
    slots = read_state(beside) if beside.exists() else {}
    place = Path(new)
    with _scratch(place) as scratch:
        state = _run(job | {"checkpoint": str(Path(old).resolve())}, scratch)
        weights = _weights(original, state["weights"], model)
        kept = _opt_entries(slots, original, state, model)
        write_state(scratch / place.name, weights)
        write_state(scratch / "slots", kept)
        place.parent.mkdir(parents=True, exist_ok=True)
        (scratch / "slots").replace(place.with_suffix(_SLOTS))
        (scratch / place.name).replace(place)
    count = len(state["slots"])
    lines = [f"{len(state['weights'])} weights to {new}", f"{count} slots to {place.with_suffix(_SLOTS)}"]
    return [*lines, *_loose(state, [])]


def _weights(original: Mapping[str, Any], converted: Mapping[str, Any], like: Path) -> dict[str, Any]:
    paths = [path for path in original if path != NAMES]
    other = next((path for path in (*paths, *converted) if path not in converted or path not in original), None)
    if other is not None:
        raise MigrateError(
            f"{like}: belongs to another model than the converted folder: only one of them has `{other}`; give a "
            "file of the converted model"
        )
    return {**original, **{path: converted[path].astype(original[path].dtype) for path in paths}}


def _opt_entries(
    slots: Mapping[str, Any], original: Mapping[str, Any], converted: Mapping[str, Any], like: Path
) -> dict[str, Any]:
    names = original.get(NAMES)
    if not isinstance(names, dict):
        raise MigrateError(f"{like}: has no names of parameters; save it with paddle.save(model.state_dict(), ...)")
    by_first = {converted["first"][path]: name for path, name in names.items() if path in converted["first"]}
    wanted, _ = slot_keys(slots, original, like)
    keys = {(converted["first"].get(path, path), slot): key for key, (path, slot) in wanted.items()}
    entries = dict(slots)
    for (path, slot), value in converted["slots"].items():
        key = keys.get((path, slot)) or full_key(by_first[path], slot)
        entries[key] = np.asarray(value).reshape(np.shape(value) or (1,))
    if converted["schedule"] is not None:
        count, rate = converted["schedule"]
        stays = set(slots.get(SCHEDULE, {})) - {"last_epoch", "last_lr"}
        if stays:
            raise MigrateError(
                f"{like}: the schedule of the learning rate keeps `{min(stays)}`, which the checkpoint does not have; "
                "save the weights alone, without a .pdopt beside it"
            )
        entries[SCHEDULE] = {"last_epoch": int(count), "last_lr": float(rate)}
    entries[NAMES] = slots.get(NAMES, {}) | {key: key for key in entries if key not in (NAMES, SCHEDULE)}
    return entries


def _loose(done: Mapping[str, Any], strange: list[str]) -> list[str]:
    """Tell what no state dict has: weights that the model holds in plain lists."""
    if not done["loose"]:
        return []
    slots = f", and the slots `{strange[0]}`, … are left out" if strange else ""
    return [
        f"{done['loose']} weights belong to no layer, so no state dict has them: they get new initial values, as in "
        f"Paddle{slots}"
    ]


def _file(path_or_folder: str) -> Path:
    """Return the `.pdparams` file that a path is, or that lies in it."""
    path = Path(path_or_folder)
    files = sorted(path.glob(f"*{_WEIGHTS}")) if path.is_dir() else [path]
    if len(files) != 1:
        count = f"has {len(files)} {_WEIGHTS} files" if files else f"has no {_WEIGHTS} file"
        raise MigrateError(f"{path_or_folder}: {count}; give the file, or the folder that paddle.save wrote it to")
    if files[0].suffix != _WEIGHTS:
        raise MigrateError(
            f"{path_or_folder}: is no {_WEIGHTS} file; give one that paddle.save(model.state_dict()) wrote"
        )
    return files[0]


def _scratch(place: Path) -> AbstractContextManager[Path]:
    """Return a temporary folder near a place; the place's folder is made once all is written."""
    return scratch_folder(".migrate-", next(one for one in place.resolve().parents if one.is_dir()))


def _run(job: Mapping[str, Any], scratch: Path) -> dict[str, Any]:
    """Run a job in a process of its own: the trainer's modules and TensorFlow's graph stay out of this one."""
    paths = [scratch / name for name in ("job", "result", "log")]
    paths[0].write_bytes(pickle.dumps(dict(job)))
    with paths[2].open("wb") as output:
        code = subprocess.call(
            module_command("migrate.checkpoint.paddle.process", *map(str, paths[:2])),
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**_QUIET, **os.environ},
        )
    if not paths[1].exists():
        lines = paths[2].read_text(errors="replace").strip().splitlines()[-_TAIL:]
        raise MigrateError(
            "\n    ".join([f"{job['folder']}: the process that built it ended with exit code {code}", *lines])
        )
    result: dict[str, Any] = pickle.loads(paths[1].read_bytes())
    if "error" in result:
        raise MigrateError(result["error"])
    return result
