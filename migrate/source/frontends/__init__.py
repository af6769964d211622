"""How each framework spells a table, a lookup, a layer."""
