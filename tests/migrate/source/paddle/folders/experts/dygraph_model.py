"""Two losses: of the click, and of click and purchase together."""

import paddle
import paddle.nn as nn
from paddle import metric, optimizer

from net import Experts
from parts.sizes import Sizes

SLOTS = ("age", "shop", "words")


class DygraphModel:
    def create_model(self, config):
        vocabularies = {name: config[f"hyper_parameters.vocabulary.{name}"] for name in SLOTS}
        sizes = Sizes(**{key: config[f"hyper_parameters.{key}"] for key in ("width", "experts", "size")})
        model = Experts(vocabularies, sizes, tasks=2, drop=config.get("hyper_parameters.drop", 0))
        model.carry[0].trainable = False
        return model

    def create_feeds(self, batch_data, config):
        click, buy, *ids = batch_data
        return click.reshape([-1, 1]), buy.reshape([-1, 1]), dict(zip(SLOTS, ids))

    def create_loss(self, pairs):
        bce, total = nn.BCELoss(), 0
        for (pred, label), weight in zip(pairs, (1.0, 0.5)):
            total += weight * bce(input=pred, label=paddle.cast(label, "float32"))
        return total

    def create_optimizer(self, dy_model, config):
        rate = config.get("hyper_parameters.optimizer.learning_rate")
        schedule = optimizer.lr.ExponentialDecay(learning_rate=rate, gamma=0.9)
        learned = [weight for weight in dy_model.parameters() if weight.trainable and not weight.stop_gradient]
        return optimizer.Adam(
            learning_rate=schedule, parameters=learned, beta1=0.8, beta2=0.99, epsilon=1e-7)

    def create_metrics(self):
        names = ["auc_click", "auc_both"]
        return [metric.Auc() for _ in names], names

    def _measure(self, metrics_list, pairs):
        for one, (pred, label) in zip(metrics_list, pairs):
            one.update(preds=paddle.concat(x=[1 - pred, pred], axis=1).numpy(), labels=label.numpy())

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        click, buy, slots = self.create_feeds(batch_data, config)
        p_click, _, p_both = dy_model(slots)
        pairs = [(p_click, click), (p_both, click * buy)]
        loss = self.create_loss(pairs)
        self._measure(metrics_list, pairs)
        return loss, metrics_list, {"loss": loss}

    def infer_forward(self, dy_model, metrics_list, batch_data, config):
        click, buy, slots = self.create_feeds(batch_data, config)
        p_click, p_buy, p_both = dy_model(slots)
        self._measure(metrics_list, [(p_click, click), (p_both, click * buy)])
        return metrics_list, {"buy": p_buy}
