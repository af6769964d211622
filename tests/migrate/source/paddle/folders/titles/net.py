"""Classifies titles by convolutions of several widths over their words."""

import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Windows(nn.Layer):
    def __init__(self, words, width, channels, windows, classes, length):
        super(Windows, self).__init__()
        self.words, self.width, self.length = words, width, length
        self.embedding = nn.Embedding(
            self.words, self.width, padding_idx=words - 1, sparse=True,
            weight_attr=paddle.ParamAttr(name="title_words", initializer=nn.initializer.Normal(std=0.4)))
        self.flat = nn.LayerList([
            nn.Conv2D(in_channels=1, out_channels=channels, kernel_size=(size, width), padding=(size // 2, 0))
            for size in windows
        ])
        self.line = nn.Conv1D(width, channels, 3, padding="SAME", data_format="NCL")
        self.pool = nn.MaxPool1D(kernel_size=2, stride=2)
        self.norm = nn.BatchNorm2D(channels)
        self.out = nn.Linear(channels * (len(windows) + 1), classes)
        self.drop = nn.Dropout(0.1)

    def forward(self, ids):
        rows = self.embedding(ids)
        image = paddle.reshape(rows, shape=[-1, 1, self.length, self.width])
        found = []
        for conv in self.flat:
            y = F.relu(self.norm(conv(image))).squeeze(3)
            found.append(F.max_pool1d(y, kernel_size=y.shape[2]).squeeze(2))
        y = self.pool(F.relu(self.line(paddle.transpose(rows, perm=[0, 2, 1]))))
        found.append(paddle.max(y, axis=-1))
        return self.out(self.drop(paddle.concat(found, axis=1)))
