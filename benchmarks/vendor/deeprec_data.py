"""Small data in the formats that DeepRec's model zoo reads: Criteo's, Taobao's and Amazon's, as text and as Parquet."""

from __future__ import annotations

import pickle
import random
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["write_data"]

_TRAINED, _EVALUATED = 2000, 600
_TAOBAO = (
    *("pid", "adgroup_id", "cate_id", "campaign_id", "customer", "brand", "user_id", "cms_segid", "cms_group_id"),
    *("final_gender_code", "age_level", "pvalue_level", "shopping_level", "occupation", "new_user_class_level"),
)
#: What separates items of a history, and alternatives of an item.
_ITEM, _ALTERNATIVE = "\x02", "\x03"
Columns = Mapping[str, Sequence[object]]


def write_data(kind: str, folder: Path) -> None:
    """Write "criteo", "criteo_numbers" (with ids in place of strings), "taobao" or "amazon" into a folder."""
    numbers = random.Random(7)
    if kind == "amazon":
        _write_amazon(folder, numbers)
    elif kind == "taobao":
        for name, rows in (("taobao_train_data", _TRAINED), ("taobao_test_data", _EVALUATED)):
            _write(folder / name, _taobao(rows, numbers), ",")
    else:
        for name, rows in (("train", _TRAINED), ("eval", _EVALUATED)):
            _write(
                folder / f"{name}.csv",
                _criteo(rows, numbers, kind == "criteo_numbers"),
                ",",
                folder / f"{name}.parquet",
            )
            for number in (1, 2, 3):  # those that a program hands to its queue of files
                shutil.copy(folder / f"{name}.csv", folder / f"{name}.csv.{number}")


def _write(path: Path, columns: Columns, separator: str, parquet: Path | None = None) -> None:
    rows = zip(*columns.values(), strict=True)
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in rows))
    # Programs put numeric columns beside embeddings.
    types = {name: pa.float32() for name in columns if name[0] == "I" and name[1:].isdigit()}
    table = pa.table({name: pa.array(values, types.get(name)) for name, values in columns.items()})
    pq.write_table(table, parquet or path.with_name(f"{path.name}.parquet"), row_group_size=500)


def _criteo(rows: int, numbers: random.Random, as_ids: bool) -> Columns:
    columns: dict[str, list[object]] = {"clicked": [int(numbers.random() < 0.25) for _ in range(rows)]}
    for number in range(1, 14):  # I10 has 10 buckets in some programs
        columns[f"I{number}"] = [numbers.randint(0, 9) for _ in range(rows)]
    for number in range(1, 27):
        ids = [numbers.randint(0, 40) * 7919 for _ in range(rows)]
        columns[f"C{number}"] = list(ids) if as_ids else [f"{one:08x}" for one in ids]
    return columns


def _taobao(rows: int, numbers: random.Random) -> Columns:
    columns: dict[str, list[object]] = {
        name: [int(numbers.random() < share) for _ in range(rows)] for name, share in (("clk", 0.25), ("buy", 0.1))
    }
    for name in _TAOBAO:
        columns[name] = [str(numbers.randint(0, 9)) for _ in range(rows)]
    lengths = [numbers.randint(1, 60) for _ in range(rows)]  # of both lists: they are one history
    for name in ("tag_category_list", "tag_brand_list"):
        columns[name] = ["|".join(str(numbers.randint(1, 99)) for _ in range(length)) for length in lengths]
    columns["price"] = [str(numbers.randint(0, 49)) for _ in range(rows)]
    return columns


def _write_amazon(folder: Path, numbers: random.Random) -> None:
    users, items, categories = (
        [f"{kind}{number}" for number in range(size)]
        for kind, size in (("U", 100), ("B", 195), ("C", 15))  # square with a default
    )
    for name, words in (
        ("uid_voc", users),
        ("mid_voc", ["default_mid", *items]),
        ("cat_voc", ["default_cat", *categories]),
    ):
        (folder / f"{name}.txt").write_text("".join(f"{word}\n" for word in words))
        (folder / f"{name}.pkl").write_bytes(pickle.dumps({word: place for place, word in enumerate(words)}))
    pairs = [(item, numbers.choice(categories)) for item in items]
    (folder / "item-info").write_text("".join(f"{item}\t{category}\n" for item, category in pairs))
    (folder / "reviews-info").write_text("".join(f"{numbers.choice(users)}\t{item}\n" for item in items))
    for name, rows in (("local_train_splitByUser", _TRAINED), ("local_test_splitByUser", _EVALUATED)):
        lengths = [numbers.randint(2, 30) for _ in range(rows)]
        columns: dict[str, list[object]] = {"CLICKED": [row % 2 for row in range(rows)]}
        for column, words in (("UID", users), ("ITEM", items), ("CATEGORY", categories)):
            columns[column] = [numbers.choice(words) for _ in range(rows)]
        others: dict[str, list[object]] = {}
        for column, words in (("HISTORY_ITEM", items), ("HISTORY_CATEGORY", categories)):
            columns[column] = [_ITEM.join(numbers.choices(words, k=length)) for length in lengths]
            others[f"NOCLK_{column}"] = [
                _ITEM.join(_ALTERNATIVE.join(numbers.choices(words, k=5)) for _ in range(length)) for length in lengths
            ]
        _write(folder / name, columns, "\t")
        _write(folder / f"{name}_neg", others, "\t")
