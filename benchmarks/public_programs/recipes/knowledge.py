"""Programs that recommend from a graph: of users and items, or of what is known about items."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.public_programs.programs import Program

__all__ = ["PROGRAMS"]

_USERS, _ITEMS, _ENTITIES, _RELATIONS = 150, 200, 320, 6


def _triples(drawn: random.Random) -> str:
    rows = [(one % _ITEMS, drawn.randint(0, _RELATIONS - 1), one % _ENTITIES) for one in range(4 * _ENTITIES)]
    return "".join(f"{head}\t{relation}\t{tail}\n" for head, relation, tail in rows)


def _ratings(folder: Path) -> None:
    drawn = random.Random(7)
    target = folder.parent / "data" / "movie"
    target.mkdir(parents=True, exist_ok=True)
    rows = [(user, drawn.randint(0, _ITEMS - 1), drawn.randint(0, 1)) for user in range(_USERS) for _ in range(12)]
    rows += [(drawn.randint(0, _USERS - 1), item, 1) for item in range(_ITEMS)]
    (target / "ratings_final.txt").write_text("".join(f"{user}\t{item}\t{label}\n" for user, item, label in rows))
    (target / "kg_final.txt").write_text(_triples(drawn))


def _interactions(target: Path) -> None:
    drawn = random.Random(7)
    target.mkdir(parents=True)
    for name, number in (("train", 12), ("test", 3)):
        lines = [" ".join(map(str, [user, *drawn.sample(range(_ITEMS), number)])) for user in range(_USERS)]
        (target / f"{name}.txt").write_text("\n".join(lines) + ("\n" if number > 3 else ""))
    (target / "kg_final.txt").write_text(_triples(drawn).replace("\t", " "))


def _beside(folder: Path) -> None:
    _interactions(folder.parent / "Data" / "toy")


def _below(folder: Path) -> None:
    _interactions(folder / "Data" / "toy")


def _of_wang(repository: str, commit: str, *more: str) -> Program:
    command = ("main.py", "--dim", "8", "--batch_size", "64", *more)
    return Program(repository, f"hwwang55/{repository}", commit, "session", command, "src", (), _ratings)


_SMALL = ("--dataset", "toy", "--embed_size", "16", "--layer_size", "[16]", "--batch_size", "64", "--epoch", "4")
_LISTS = {r"= (self\.\w+)\.keys\(\)$": r"= list(\1)"}


def _of_kgat(model: str, *more: str) -> Program:
    return Program(
        f"KGAT {model}",
        "xiangwang1223/knowledge_graph_attention_network",
        "c03737b",
        "session",
        ("Main.py", "--model_type", model, "--kge_size", "16", *_SMALL, *more),
        "Model",
        (),
        _beside,
        _LISTS,
    )


def _of_ngcf(script: str) -> Program:
    return Program(
        f"NGCF's {script}",
        "xiangwang1223/neural_graph_collaborative_filtering",
        "a718a4f",
        "session",
        (f"{script}.py", *_SMALL),
        "NGCF",
        (),
        _beside,
    )


PROGRAMS = (
    _of_wang("RippleNet", "46a364d", "--n_memory", "8"),
    _of_wang("KGCN", "2363ca2"),
    _of_wang("MKR", "d6bb77c"),
    *map(_of_kgat, ("bprmf", "cke", "cfkg", "fm", "nfm")),
    _of_kgat("kgat", "--alg_type", "bi"),
    *map(_of_ngcf, ("BPRMF", "NMF", "NGCF")),
    Program(
        "LightGCN",
        "kuandeng/LightGCN",
        "b067ec0",
        "session",
        ("LightGCN.py", *_SMALL),
        data=_below,
        mended={
            r"self\.n_fold = 100": "self.n_fold = 4",
            r"rd\.sample\(self\.test_set\.keys\(\)": "rd.sample(list(self.test_set)",
        },
    ),
)
