"""One rank of `plan`: times steps of tables under several placements, in turns, beside what the cost model says.

Rank 0 prints its numbers as one line of JSON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from benchmarks.common import ZIPF_EXPONENT, Ids
from benchmarks.distributed.plan_settings import SETTINGS, Group
from benchmarks.distributed.ranks_part import LABEL, exchange_times
from runtime import ranks
from runtime.optimizers import adagrad
from runtime.ranks.planning.search import Search

KINDS = ("distributed", "localized", "replicated")
Step = Callable[[], tf.Tensor]


@dataclass
class Tried:
    """One candidate: its placements, what the model says, and what steps took."""

    label: str
    placements: dict[str, str]
    modelled_ms: float
    times: list[float]
    cpu_ms: float = 0.0


def drawn(groups: Sequence[Group], samples: int, batches: int, rank: int) -> list[dict[str, Ids]]:
    """Return batches of a rank: for each table ids [samples, ids of a sample]."""
    random = np.random.Generator(np.random.PCG64(rank))
    made: list[dict[str, Ids]] = []
    for _ in range(batches):
        batch = {}
        for group in groups:
            for name in group.names():
                shape = (samples, group.ids)
                zipf = group.law == "zipf"
                ids = random.zipf(ZIPF_EXPONENT, shape) if zipf else random.integers(0, group.rows, shape)
                batch[name] = (ids % group.rows).astype(np.int64)
        made.append(batch)
    return made


def step_of(groups: Sequence[Group], placements: dict[str, str], label: str, batches: list[dict[str, Ids]]) -> Step:
    """Return a function that makes the next step."""
    names = [(name, group) for group in groups for name in group.names()]
    first = tf.compat.v1.random_normal_initializer(stddev=0.01, seed=1)
    tables = {
        name: runtime.create_table(
            tf.int64, group.dim, f"{label}_{name}", first, group.rows, placement=placements[name]
        )
        for name, group in names
    }
    optimizer = adagrad.create_hash_optimizer(0.01, 0.1)
    variables = [tables[name].variable for name, _ in names]
    plain = [name for name, group in names if not group.pooled]
    bags = [name for name, group in names if group.pooled]

    @tf.function(reduce_retracing=True)  # type: ignore[untyped-decorator]
    def step(batch: dict[str, tf.Tensor]) -> tf.Tensor:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            rows = runtime.grouped_lookup([(tables[name], batch[name]) for name in plain]) if plain else []
            if bags:
                ids = [tf.RaggedTensor.from_tensor(batch[name]) for name in bags]
                pairs = [(tables[name], one) for name, one in zip(bags, ids, strict=True)]
                rows += runtime.grouped_embedding_lookup_sparse(pairs, ["sum"] * len(bags))
            loss = tf.add_n([tf.reduce_sum(one * one) for one in rows])
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    given = itertools.cycle([{name: tf.constant(ids) for name, ids in batch.items()} for batch in batches])
    return lambda: step(next(given))


def candidates(groups: Sequence[Group], search: Search, planned: dict[str, str]) -> dict[str, dict[str, str]]:
    """Return placements to try: each kind for each group, whole tables shared out over ranks, and the plan's."""
    size = ranks.size()
    found = {"plan": planned}
    for kinds in itertools.product(KINDS, repeat=len(groups)):
        placed, owners = {}, itertools.count()
        for group, kind in zip(groups, kinds, strict=True):
            for name in group.names():
                placed[name] = f"localized:{next(owners) % size}" if kind == "localized" else kind
        found["/".join(kinds)] = placed
    return found


def measured(options: argparse.Namespace, groups: Sequence[Group], costs: ranks.Costs) -> dict[str, Any]:
    """Return what the plan chose, and the times of all candidates."""
    size = ranks.size()
    example = drawn(groups, options.samples, options.batches, 0)  # all ranks plan from the same ids
    uses = {
        name: ranks.TableUse.counted([one[name] for one in example], group.rows, group.dim, pooled=group.pooled)
        for group in groups
        for name in group.names()
    }
    plan = ranks.plan(uses, options.samples, size, costs=costs)
    search = Search(uses, options.samples, size, None, costs, KINDS)
    batches = drawn(groups, options.samples, options.batches, ranks.rank())
    tried, steps = [], []
    for number, (label, placed) in enumerate(candidates(groups, search, dict(plan)).items()):
        tried.append(Tried(label, placed, search.score(search.total(placed)).seconds * 1e3, []))
        steps.append(step_of(groups, placed, f"c{number}", batches))
    for step in steps:
        for _ in range(2 + options.batches):  # traces, and inserts all rows
            step().numpy()
    for turn in range(options.turns):
        for number in range(len(steps)) if turn % 2 else range(len(steps) - 1, -1, -1):
            cpu = time.process_time()
            for _ in range(options.repeats):
                begun = time.perf_counter()
                steps[number]().numpy()
                tried[number].times.append((time.perf_counter() - begun) * 1e3)
            tried[number].cpu_ms += (time.process_time() - cpu) * 1e3 / options.repeats / options.turns
    cpu_of_all = ranks.current().all_reduce(tf.constant([one.cpu_ms for one in tried], tf.float32)).numpy()
    for one, cpu in zip(tried, cpu_of_all, strict=True):
        one.cpu_ms = float(cpu)
    units = {
        name: _units(uses, options.samples, size, placed)
        for name, placed in candidates(groups, search, {}).items()
        if placed
    }
    return {"plan": str(plan), "tried": [asdict(one) for one in tried], "units": units}


def _units(uses: dict[str, ranks.TableUse], samples: int, size: int, placed: dict[str, str]) -> list[float]:
    """Return how often each cost occurs in a step, in the order of the fields of Costs."""
    found = []
    for field in ranks.Costs.__dataclass_fields__:
        unit = ranks.Costs(**{name: float(name == field) for name in ranks.Costs.__dataclass_fields__})
        search = Search(uses, samples, size, None, unit, KINDS)
        found.append(search.score(search.total(placed)).seconds)
    return found


def main(given: Sequence[str] | None = None) -> None:
    """Measure one setting, and print the numbers on rank 0."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--setting", choices=sorted(SETTINGS), required=True)
    parser.add_argument("--costs", required=True, help="numbers separated by commas, or nothing for the defaults")
    for name in ("samples", "batches", "repeats", "turns"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args(given)
    os.environ["RECMIGRATE_NUM_THREADS"] = "1"
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    engine = ranks.start()
    costs = ranks.Costs(*map(float, options.costs.split(","))) if options.costs else ranks.Costs()
    numbers = {**measured(options, SETTINGS[options.setting], costs), "exchanges": exchange_times()}
    if engine.rank == 0:
        print(LABEL + json.dumps(numbers), flush=True)


if __name__ == "__main__":
    main()
