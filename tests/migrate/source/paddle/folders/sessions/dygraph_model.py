"""Trains the network of net.py."""

import paddle
import paddle.nn.functional as F
from net import SessionModel


class DygraphModel:
    def create_model(self, config):
        return SessionModel(config.get("hyper_parameters.items"), 6, config.get("hyper_parameters.mode"))

    def create_loss(self, logit, every, label, item):
        first = F.binary_cross_entropy_with_logits(logit, paddle.reshape(label, [-1, 1]))
        return first + 0.1 * paddle.mean(F.cross_entropy(every, item))

    def create_optimizer(self, dy_model, config):
        return paddle.optimizer.SGD(learning_rate=0.1, parameters=dy_model.parameters())

    def create_metrics(self):
        return [], []

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        history, mask, item, label = batch_data
        logit, every = dy_model(history, mask, item)
        loss = self.create_loss(logit, every, label, item)
        return loss, metrics_list, None

    def infer_forward(self, dy_model, metrics_list, batch_data, config):
        history, mask, item, label = batch_data
        logit, every = dy_model(history, mask, item)
        return metrics_list, F.sigmoid(logit)
