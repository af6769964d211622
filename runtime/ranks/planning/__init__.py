"""Chooses placements of tables by a cost model: `plan`, without TensorFlow and before any table is made."""
