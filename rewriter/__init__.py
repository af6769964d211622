"""GraphDef rewriting. Knows graphs, not source and not reports; imports `runtime` only."""
