"""Trains the network of net.py."""

import paddle
import paddle.nn.functional as F
from net import SessionModel


class Misses(paddle.metric.Metric):
    """How far the probability is from the label, on average and at worst, of clicked items."""

    def __init__(self):
        super().__init__()
        self.reset()

    def compute(self, logit, label):
        return paddle.abs(F.sigmoid(logit) - paddle.reshape(label, [-1, 1]))

    def update(self, logit, label):
        far = self.compute(logit, label)
        if paddle.max(far).item() > self.worst:
            self.worst = paddle.max(far).item()
        rows = far.numpy()[label.numpy() > 0] if isinstance(label, paddle.Tensor) else []
        if len(rows) == 0:
            return
        self.far.append(rows.mean())

    def accumulate(self):
        if not self.far:
            return [0.0, self.worst]
        return [sum(self.far) / len(self.far), self.worst]

    def reset(self):
        self.far = []
        self.worst = 0.0

    def name(self):
        return "misses"


class DygraphModel:
    def create_model(self, config):
        return SessionModel(config.get("hyper_parameters.items"), 6, config.get("hyper_parameters.mode"))

    def create_loss(self, logit, every, label, item):
        first = F.binary_cross_entropy_with_logits(logit, paddle.reshape(label, [-1, 1]))
        return first + 0.1 * paddle.mean(F.cross_entropy(every, item))

    def create_optimizer(self, dy_model, config):
        return paddle.optimizer.SGD(learning_rate=0.1, parameters=dy_model.parameters())

    def create_metrics(self):
        return [Misses()], ["misses"]

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        history, mask, item, label = batch_data
        logit, every = dy_model(history, mask, item)
        loss = self.create_loss(logit, every, label, item)
        metrics_list[0].update(logit, label=label)
        return loss, metrics_list, None

    def infer_forward(self, dy_model, metrics_list, batch_data, config):
        history, mask, item, label = batch_data
        logit, every = dy_model(history, mask, item)
        metrics_list[0].update(logit, label=label)
        return metrics_list, F.sigmoid(logit)
