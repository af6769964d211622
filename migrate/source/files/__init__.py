"""Files: reading, editing, atomic writing and reverting; notebooks; the result of a conversion."""
