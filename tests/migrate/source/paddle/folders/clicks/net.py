import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Clicks(nn.Layer):
    """Pooled rows of slots, with counts in front of those of the shared table."""

    def __init__(self, rows, width, sizes, slots):
        super().__init__()
        self.rows, self.width, self.slots = rows, width, slots
        self.city = nn.Embedding(40, width, sparse=True, weight_attr=paddle.ParamAttr(name="cities"))
        self.hidden = nn.LayerList()
        # rows of the shared table begin with two counts, which are left out
        last = (1 + len(slots)) * width
        for size in sizes:
            self.hidden.append(nn.Linear(last, size))
            last = size
        self.out = nn.Linear(last, 1)

    def forward(self, show, click, city, ids):
        counts = paddle.concat([paddle.cast(show, "float32"), paddle.cast(click, "float32")], axis=1)
        entry = paddle.distributed.ShowClickEntry(show.name, click.name)
        parts = [paddle.squeeze(self.city(city), axis=1)]
        for one in ids[:-1]:
            row = paddle.static.nn.sparse_embedding(
                input=one,
                size=[self.rows, self.width + 2],
                padding_idx=0,
                entry=entry,
                param_attr=paddle.ParamAttr(name="shared", initializer=nn.initializer.Uniform(0.0, 0.5)),
            )
            pooled = paddle.static.nn.sequence_pool(input=row, pool_type="sum")
            parts.append(paddle.static.nn.continuous_value_model(pooled, counts, False))
        words = paddle.static.nn.sparse_embedding(ids[-1], [self.rows, self.width])
        parts.append(paddle.static.nn.sequence_pool(words, "average"))
        x = paddle.concat(x=parts, axis=1)
        for layer in self.hidden:
            x = F.relu(layer(x))
        return F.sigmoid(self.out(x))
