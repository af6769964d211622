"""Trains with momentum, a falling rate and a clip of the gradients."""

import net
import paddle
import paddle.nn.functional as F


class DygraphModel():
    def create_model(self, config):
        get = lambda name: config.get("hyper_parameters." + name)
        return net.Factors(get("size"), get("width"), get("slots"), get("numbers"), get("depth"), get("cin"),
                           get("hidden"))

    def create_feeds(self, batch_data, config):
        numbers = config.get("hyper_parameters.numbers")
        sparse = [paddle.to_tensor(b.numpy().astype("int64").reshape(-1, 1)) for b in batch_data[:-1]]
        dense = paddle.to_tensor(batch_data[-1].numpy().astype("float32").reshape(-1, numbers))
        label, *slots = sparse
        return label, slots, dense

    def create_loss(self, pred, label):
        return F.binary_cross_entropy(pred, label.astype("float32"))

    def create_optimizer(self, dy_model, config):
        rate = paddle.optimizer.lr.PiecewiseDecay(boundaries=[2, 4], values=[0.1, 0.05, 0.02])
        return paddle.optimizer.Momentum(
            learning_rate=rate, momentum=0.9, parameters=dy_model.parameters(), use_nesterov=False,
            grad_clip=paddle.nn.ClipGradByGlobalNorm(5.0))

    def create_metrics(self):
        return [paddle.metric.Auc("ROC", num_thresholds=1000)], ["auc"]

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        label, slots, dense = self.create_feeds(batch_data, config)
        pred = dy_model(slots, dense)
        loss = self.create_loss(pred, label)
        metrics_list[0].update(preds=paddle.concat([1 - pred, pred], 1).numpy(), labels=label.numpy())
        print_dict = {'loss': loss}
        return loss, metrics_list, print_dict

    def infer_forward(self, dy_model, metrics_list, batch_data, config):
        label, slots, dense = self.create_feeds(batch_data, config)
        pred = dy_model(slots, dense)
        metrics_list[0].update(preds=paddle.concat([1 - pred, pred], 1).numpy(), labels=label.numpy())
        return metrics_list, None
