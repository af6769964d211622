"""Names for generated code that do not collide with names of the user."""

from __future__ import annotations


class Fresh:
    """Generates names that occur nowhere in the file."""

    def __init__(self, taken: set[str], bound: set[str], prefix: str) -> None:
        """`taken` are all identifiers, `bound` those that an import could shadow: it gets `prefix` prepended then."""
        self._prefix = prefix
        self._taken = taken
        self._bound = bound
        self._given: dict[str, str] = {}
        self.imported: dict[str, str] = {}

    def local(self, wanted: str) -> str:
        """Return `wanted`, else `table_<wanted>`, else a numbered name; always the same for the same `wanted`."""
        if wanted not in self._given:
            choices = [wanted, f"table_{wanted}", *(f"{wanted}_{n}" for n in range(2, 1000))]
            self._given[wanted] = next(c for c in choices if c not in self._taken)
            self._taken.add(self._given[wanted])
        return self._given[wanted]

    def imports(self, name: str) -> str:
        """Return the local name of an imported symbol, and record that the import is needed."""
        if name not in self.imported:
            longer = f"{self._prefix}_{name}"
            choices = [name, longer, *(f"{longer}_{n}" for n in range(2, 1000))]
            self.imported[name] = next(c for c in choices if c not in self._bound)
        return self.imported[name]
