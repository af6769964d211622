"""DeepRec's `WorkQueue`: names of files that are handed out one by one; a checkpoint knows what is left."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private

v1: Any = tf.compat.v1


class WorkQueue(_tf_private.SaveableObject):  # type: ignore[misc]
    """Items of several epochs, each of which is taken once; with parameter servers, by one of all workers.

    A `Scaffold` fills it, or else what initializes local variables. Checkpoints hold what is left
    as `<name>_works`, and as `<name>_digest` the items: where these are others on restoring, the queue begins anew.
    """

    def __init__(
        self,
        works: Any,
        num_epochs: int = 1,
        shuffle: bool = True,
        seed: int | None = None,
        prefix: str | None = None,
        num_slices: int | None = None,
        num_clients: int = 1,
        name: str | None = None,
        local_work_mgr: Any = None,
    ) -> None:
        """Take the items, strings without blanks around them, and create the ops.

        `num_slices`, which cuts tables into slices but not files, and `num_clients` have no effect.

        Raises:
            ValueError: the items are not a list of strings, there is no epoch, or `local_work_mgr` is given.
        """
        del num_slices, num_clients
        if not isinstance(works, list) or not works or not all(isinstance(one, (str, bytes)) for one in works):
            raise ValueError(f"works {works!r} of a WorkQueue must be a list of strings with at least one")
        if num_epochs <= 0:
            raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
        if local_work_mgr is not None:
            raise ValueError("`local_work_mgr` of a WorkQueue is not supported: checkpoints hold what is left")
        self.works = [(one.encode() if isinstance(one, str) else one).strip() for one in works]
        self._prefix = prefix
        name = v1.get_default_graph().unique_name(name or "work_queue", mark_as_used=False)
        with v1.name_scope(name) as scope:
            self._scope = scope
            settings = {"trainable": False, "collections": [f"{name}_state"], "use_resource": True}
            epochs = [tf.random.shuffle(self.works, seed) if shuffle else self.works for _ in range(num_epochs)]
            # What a checkpoint has left may be fewer.
            every = v1.placeholder_with_default(tf.concat(epochs, 0), [None])
            self._items = v1.Variable(every, name="items", validate_shape=False, **settings)
            self._taken = v1.Variable(tf.constant(0, tf.int64), name="taken", **settings)
            self._turn = tf.CriticalSection(name="turn", shared_name=f"{name}/turn")
            self._create = self._begin()
            self._digest = tf.constant(b",".join(self.works))
            ready = tf.logical_and(v1.is_variable_initialized(self._items), v1.is_variable_initialized(self._taken))
            _tf_private.register_resource(self._taken.handle, self._create, ready)
            # A session without a Scaffold fills it where it initializes local variables, if nothing else did.
            with tf.control_dependencies([tf.cond(ready, lambda: tf.no_op(), lambda: self._begin())]):
                filled = tf.constant(0)
            local = [v1.GraphKeys.LOCAL_VARIABLES]
            v1.Variable(filled, name="colocator", trainable=False, collections=local, use_resource=True)
            specs = [
                _tf_private.SaveSpec(self._digest, "", f"{name}_digest", tf.string),
                _tf_private.SaveSpec(self._left(), "", f"{name}_works", tf.string),
            ]
        super().__init__(self._items, specs, name)
        v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, self)

    def __len__(self) -> int:
        """Return the number of items of an epoch."""
        return len(self.works)

    @property
    def digest(self) -> bytes:
        """The items, by which a checkpoint is known to be of this queue."""
        return b",".join(self.works)

    def take(self) -> tf.Tensor:
        """Return the next item, a string scalar, with the prefix; out of range when all are taken."""
        with tf.name_scope(self._scope):
            item, there = self._next()
            with tf.control_dependencies([tf.cond(there, lambda: tf.no_op(), _fail_at_end)]):
                return self._with_prefix(tf.identity(item))

    def input_dataset(self) -> Any:
        """Return a dataset of items, string scalars, that ends when all are taken."""
        items = v1.data.Dataset.from_tensors(0).repeat().map(lambda _: self._next())
        items = items.take_while(lambda _, there: there)
        # One of them reads ahead, and items would count as taken before anybody reads them.
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        return items.map(lambda item, _: self._with_prefix(item)).with_options(options)

    def input_producer(self) -> Any:
        """Return a queue of items of shape [1], which a queue runner of the graph fills."""
        with tf.name_scope(self._scope):
            queue = v1.FIFOQueue(1, [tf.string], [[1]], name="proxy")
            v1.train.add_queue_runner(v1.train.QueueRunner(queue, [queue.enqueue(tf.reshape(self.take(), [1]))]))
        return queue

    def add_summary(self) -> None:
        """Add a summary of the share of all items that is left."""
        with tf.name_scope(self._scope):
            share = tf.size(self._left()) / tf.size(self._items)
        v1.summary.scalar(f"{self.name}/fraction_of_{len(self)}_full", share)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> tf.Operation:
        """Take what was left of the same items, or begin anew."""
        del restored_shapes
        digest, left = restored_tensors

        def go_on() -> tf.Operation:
            return tf.group(self._items.assign(left), self._taken.assign(0))

        return tf.cond(tf.equal(digest, self._digest), go_on, self._begin_anew)

    def _begin(self) -> tf.Operation:
        return tf.group(self._items.assign(self._items.initial_value), self._taken.assign(0))

    def _begin_anew(self) -> tf.Operation:
        message = tf.print(
            f"the items of the WorkQueue {self.name} differ from those in the checkpoint: the queue begins again"
        )
        with tf.control_dependencies([message]):
            return self._begin()

    def _left(self) -> tf.Tensor:
        with tf.control_dependencies([self._taken.read_value()]):
            return self._items.read_value()[tf.cast(self._taken.read_value(), tf.int32) :]

    def _next(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the next item, and whether there is one."""
        place = tf.cast(self._turn.execute(lambda: tf.identity(self._taken.assign_add(1)) - 1), tf.int32)
        items = self._items.read_value()
        there = place < tf.size(items)
        return tf.gather(tf.concat([items, [""]], 0), tf.minimum(place, tf.size(items))), there

    def _with_prefix(self, item: tf.Tensor) -> tf.Tensor:
        return item if self._prefix is None else tf.strings.join([self._prefix, item])


def _fail_at_end() -> tf.Operation:
    """Fail as a queue does that is empty and closed."""
    queue = v1.FIFOQueue(1, [tf.int32], [[]], shared_name="", name="taken_to_the_end")
    with tf.control_dependencies([queue.close()]):
        return tf.group(queue.dequeue())
