"""A program may read more batches of its own iterator once the graph is modified: they are those of its dataset."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from runtime.compat import mx_rec

v1 = tf.compat.v1


@pytest.mark.parametrize("has_hook", [False, True])
def test_an_iterator_goes_on_with_its_elements(has_hook: bool) -> None:
    mx_rec.install()
    try:
        from mx_rec.core import embedding  # type: ignore[import-not-found]
        from mx_rec.graph import modifier  # type: ignore[import-not-found]
        from mx_rec.optimizers import gradient_descent  # type: ignore[import-not-found]
        from mx_rec.util import initialize  # type: ignore[import-not-found]

        initialize.init(use_dynamic=True)
        with tf.Graph().as_default():
            dataset = tf.data.Dataset.from_tensor_slices({"ids": [[1, 2], [3, 4], [5, 6]], "other": [7, 8, 9]})
            iterator = v1.data.make_initializable_iterator(dataset.prefetch(2))
            table = embedding.create_table(tf.int64, 1, "user", v1.ones_initializer(), 9)
            rows = embedding.sparse_lookup(table, iterator.get_next()["ids"], modify_graph=True)
            train = gradient_descent.create_hash_optimizer(0.1).minimize(tf.reduce_sum(rows))
            if has_hook:
                modifier.GraphModifierHook().begin()
            else:
                modifier.modify_graph_and_start_emb_cache()
            more: Any = iterator.get_next()
            with v1.Session() as session:
                session.run([v1.global_variables_initializer(), iterator.initializer])
                session.run(train)
                read = [session.run(more) for _ in range(3)]
                assert [one["ids"].tolist() for one in read] == [[1, 2], [3, 4], [5, 6]]
                assert [one["other"] for one in read] == [7, 8, 9]
                session.run(train)
                session.run(iterator.initializer)
                assert session.run(more)["other"] == 7
                assert sorted(session.run(table.snapshot())[0]) == [1, 2, 3, 4]
    finally:
        mx_rec.uninstall()
