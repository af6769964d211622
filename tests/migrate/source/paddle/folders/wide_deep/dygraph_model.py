"""Trains the network of net.py."""

import net
import paddle


class DygraphModel():
    def create_model(self, config):
        return net.WideDeep(
            config.get("hyper_parameters.vocabulary"),
            config.get("hyper_parameters.width"),
            config.get("hyper_parameters.numbers", 3),
            config.get("hyper_parameters.slots"),
            config.get("hyper_parameters.sizes"))

    # the batch is label, slots, numbers
    def create_feeds(self, batch, config):
        slots = []
        for item in batch[:-1]:
            slots.append(paddle.to_tensor(item.numpy().astype("int64").reshape(-1, 1)))
        numbers = paddle.to_tensor(batch[-1].numpy().astype("float32").reshape(-1, config.get("hyper_parameters.numbers")))
        return slots[0], slots[1:], numbers

    def create_loss(self, pred, label):
        cost = paddle.nn.functional.log_loss(input=pred, label=paddle.cast(label, dtype="float32"))
        return paddle.mean(x=cost)

    def create_optimizer(self, dy_model, config):
        rate = config.get("hyper_parameters.optimizer.learning_rate", 0.001)
        return paddle.optimizer.Adam(learning_rate=rate, parameters=dy_model.parameters(), lazy_mode=True)

    def create_metrics(self):
        return [paddle.metric.Auc("ROC")], ["auc"]

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        label, slots, numbers = self.create_feeds(batch_data, config)
        pred = dy_model.forward(slots, numbers)
        loss = self.create_loss(pred, label)
        both = paddle.concat(x=[1 - pred, pred], axis=1)
        metrics_list[0].update(preds=both.numpy(), labels=label.numpy())
        return loss, metrics_list, {"loss": loss}

    def infer_forward(self, dy_model, metrics_list, batch_data, config):
        label, slots, numbers = self.create_feeds(batch_data, config)
        pred = dy_model.forward(slots, numbers)
        both = paddle.concat(x=[1 - pred, pred], axis=1)
        metrics_list[0].update(preds=both.numpy(), labels=label.numpy())
        return metrics_list, None
