"""Pages of the API: the names that modules export, by what they are for; MkDocs' plugin finds the docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.paths import ROOT

#: By page: the title, and the module whose `__all__` it shows.
MODULES = {
    "runtime": "Tables and lookups",
    "runtime.optimizers": "Optimizers of tables",
    "runtime.checkpoint": "Checkpoints",
    "runtime.keras": "Keras",
    "runtime.feature_column": "Feature columns",
    "runtime.ranks": "Several processes",
    "rewriter": "The graph rewriter",
    "migrate.rules": "Rules of your own",
}
#: What a user does -> the pages for it, and the headings there.
USES = {
    "create tables": ("runtime#create-tables", "runtime.keras#layers", "runtime.feature_column"),
    "look rows up": ("runtime#look-rows-up", "runtime.keras#layers", "runtime.feature_column"),
    "train": ("runtime.optimizers", "runtime#train", "runtime.keras", "runtime.ranks"),
    "save and restore": ("runtime.checkpoint", "runtime#save-and-restore"),
    "serve": ("../serving",),
    "watch": ("runtime#watch",),
    "move a program as it is": ("rewriter#move-a-program", "runtime.keras#models-and-variables"),
    "write rules": ("migrate.rules",),
}
#: Of pages with many names: heading -> the names below it. A name that stands nowhere is shown at the end.
GROUPS = {
    "runtime": {
        "Create tables": (
            "create_table create_column_table create_counted_table table_of_rows set_rows zero_padded column_blocks "
            "initializers scoped_name scoped_initializer unique_name init terminate_config_initializer Table "
            "ColumnTable"
        ),
        "Settings of a table": "Storage Buckets Device KeyRules Admission Eviction InitialRows CountingBloom",
        "Look rows up": (
            "sparse_lookup embedding_lookup_sparse safe_embedding_lookup_sparse grouped_lookup "
            "grouped_embedding_lookup_sparse grouped_safe_embedding_lookup_sparse one_hot_lookup padded_lookup "
            "partitioned_lookup column_lookup column_lookup_sparse all_rows looked_up_rows wide_buckets"
        ),
        "Look rows up over several processes": (
            "exchange_ids exchange_sparse_ids exchange_safe_sparse_ids ExchangedIds local_lookup local_rows prefetch"
        ),
        "Train": (
            "get_dense_and_sparse_variable l2_loss l1_norm penalty regularized whole_table_l2 whole_table_l1 "
            "set_threshold evict_by_age evict_by_norm evict_by_step EvictHook"
        ),
        "Save and restore": "set_base forget_base WarmStart",
        "Watch": "tables status table_summaries tier_summaries TableSummaryHook",
    },
    "runtime.checkpoint": {
        "Read and restore": "warm_start restore_table load_rows read_numpy check latest_complete",
        "Move and write": "move_variables move_tables export_numpy Move Moved Back MovedBack TableRows",
        "Increments": "IncrementalSaver IncrementalCheckpoint",
        "Errors": "CheckpointError",
    },
    "runtime.keras": {
        "Layers": "Embedding IntegerLookup StringLookup",
        "Models and variables": "migrate adapters embedding_class table_variable TableVariable TableRows one_device",
        "Several processes": "DistributedOptimizer BroadcastCallback MetricAverageCallback",
    },
    "runtime.ranks": {
        "Start and stop": "start stop current rank local_rank size missing",
        "Values of all ranks": "broadcast reduced_gradients BroadcastHook",
        "Where rows lie": "plan Plan TableUse Costs Route",
        "Classes": "Engine RanksError",
    },
    "rewriter": {
        "Move a program": "install rewrite GraphModifierHook prove",
        "Ids from the dataset": "move_ids get_initializer get_target_batch",
        "Names of Rec SDK": ("modify_graph_and_start_emb_cache LookupSubgraphSlicerHook OrphanLookupKeySlicerHook"),
    },
}
#: Of the module, its docstring.
_TEXT_ALONE = "    options: {members: false, show_root_heading: false, show_root_toc_entry: false}\n"
_BELOW = "    options: {heading_level: 3}\n"


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page."""
    rows = [f"| {use} | {', '.join(map(_link, names))} |\n" for use, names in USES.items()]
    head = "# API\n\nWhat these modules export is public, all else may change.\n\n| you want to | pages |\n|---|---|\n"
    yield "index.md", head + "".join(rows)
    for module, title in MODULES.items():
        parts = [f"# {title}\n\nModule `{module}`.\n\n::: {module}\n{_TEXT_ALONE}"]
        for heading, names in grouped(module).items():
            parts += [f"\n## {heading}\n"] if heading else []
            parts += [f"\n::: {module}.{name}\n{_BELOW if heading else ''}" for name in names]
        yield f"{module}.md", "".join(parts)


def _link(place: str) -> str:
    page, hash_, heading = place.partition("#")
    return f"[{MODULES.get(page, 'Serve a model')}]({page}.md{hash_}{heading})"


def grouped(module: str) -> dict[str, list[str]]:
    """Return heading -> names of a module's `__all__`; one heading "" where the page has none."""
    names = exported(module)
    groups = {heading: text.split() for heading, text in GROUPS.get(module, {}).items()}
    rest = [name for name in names if not any(name in group for group in groups.values())]
    return {**groups, **({"More" if groups else "": rest} if rest else {})}


def exported(module: str) -> list[str]:
    """Return the names in a module's `__all__`, without those of its modules that have pages of their own."""
    path = ROOT.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = ast.literal_eval(node.value)
            return [name for name in names if f"{module}.{name}" not in MODULES]
    raise LookupError(f"`{file}` has no `__all__`")
