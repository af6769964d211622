"""Two towers over words: a query is nearer to the title that was clicked than to those that were not."""
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


def tower(sizes, act):
    layers = nn.LayerList()
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1], weight_attr=nn.initializer.XavierNormal()))
    return layers


class Towers(nn.Layer):
    acts = {"relu": F.relu, "tanh": F.tanh, "leaky": lambda x: F.leaky_relu(x, negative_slope=0.2)}

    def __init__(self, words, width, sizes, act="tanh", titles=3, margin=0.2):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=0, weight_attr=paddle.ParamAttr(
            name="words", learning_rate=1.0, initializer=nn.initializer.Uniform(low=-0.4, high=0.4)))
        self.query_words = self.words  # both towers read one table
        self.titles, self.margin, self.act = titles, margin, act
        self.query, self.title = tower([width] + sizes, act), tower([width] + sizes, act)
        self.scale = self.create_parameter([1], default_initializer=nn.initializer.Constant(2.0))

    def bag(self, ids, words):
        rows = words(ids)
        real = paddle.cast(ids != 0, "float32").unsqueeze(-1)
        return (rows * real).sum(axis=1) / paddle.clip(real.sum(axis=1), min=1.0)

    def run(self, layers, x):
        for layer in layers:
            x = self.acts[self.act](layer(x))
        return x

    def forward(self, query, titles, is_infer=False):
        q = self.run(self.query, self.bag(query, self.query_words))
        if is_infer:
            t = self.run(self.title, self.bag(titles[0], self.words))
            return F.cosine_similarity(q, t, axis=1).reshape([-1, 1])
        scores = []
        for i in range(self.titles):
            t = self.run(self.title, self.bag(titles[i], self.words))
            scores.append(F.cosine_similarity(q, t, axis=1).reshape([-1, 1]))
        near = F.normalize(q, axis=-1)
        among = paddle.matmul(near, F.normalize(t, axis=-1), transpose_y=True)
        return paddle.concat(scores, axis=-1) * self.scale, among
