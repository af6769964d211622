"""Names and scopes: bindings, reaching definitions, and names that change by reflection."""
