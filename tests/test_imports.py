"""No module imports itself by way of others; which packages may import which is in .importlinter."""

from __future__ import annotations

import grimp
import networkx as nx

from migrate.source.rules.catalogue import PACKAGES

#: What loads all modules of packages by their names, which shows in no import.
LOADING = {
    "migrate.source.tensorflow.base.rule_registry": ["migrate.source.tensorflow.rules"],
    "migrate.source.rules.catalogue": PACKAGES,
}


def test_no_module_imports_itself_by_way_of_others() -> None:
    """An import inside a function counts, and one for types alone: a type is knowledge."""
    roots = ("migrate", "rewriter", "runtime")
    graph = grimp.build_graph(*roots, cache_dir=None)
    for loader, packages in LOADING.items():
        for rule in (rule for package in packages for rule in graph.find_children(package)):
            graph.add_import(importer=loader, imported=rule)
    circles = _circles(graph)
    assert not circles, "\n".join(circles)


def test_a_circle_is_named() -> None:
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")):
        graph.add_import(importer=importer, imported=imported)
    assert _circles(graph) == ["b -> c -> b"]


def _circles(graph: grimp.ImportGraph) -> list[str]:
    """Return a way from a module back to it, for each group of modules that import each other."""
    imports = [(one, other) for one in graph.modules for other in graph.find_modules_directly_imported_by(one)]
    whole = nx.DiGraph(sorted(imports))
    groups = [sorted(group) for group in nx.strongly_connected_components(whole) if len(group) > 1]
    ways = (nx.find_cycle(whole.subgraph(group), group[0]) for group in sorted(groups))
    return [" -> ".join([way[0][0], *(imported for _, imported in way)]) for way in ways]
