import paddle
import paddle.nn as nn
import net


class DygraphModel():
    def create_model(self, config):
        h = "hyper_parameters."
        return net.Windows(config.get(h + "words"), config.get(h + "width"), config.get(h + "channels"),
                           [int(one) for one in config.get(h + "windows").split(",")], config.get(h + "classes"),
                           config.get(h + "length"))

    def create_feeds(self, batch_data, config):
        ids = paddle.to_tensor(batch_data[0].numpy().astype('int64').reshape(-1, config.get("hyper_parameters.length")))
        label = paddle.to_tensor(batch_data[1].numpy().astype('int64').reshape(-1, 1))
        return ids, label

    def create_loss(self, logit, label):
        smooth = paddle.nn.functional.one_hot(label.squeeze(1), num_classes=logit.shape[1]) * 0.9 + 0.02
        soft = nn.CrossEntropyLoss(soft_label=True)(logit, smooth)
        return soft + paddle.mean(paddle.nn.functional.cross_entropy(input=logit, label=label, reduction="none"))

    def create_optimizer(self, dy_model, config):
        return paddle.optimizer.RMSProp(
            learning_rate=0.01, rho=0.9, momentum=0.5, parameters=dy_model.parameters())

    def create_metrics(self):
        return [paddle.metric.Accuracy()], ["acc"]

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        ids, label = self.create_feeds(batch_data, config)
        logit = dy_model.forward(ids)
        loss = self.create_loss(logit, label)
        correct = metrics_list[0].compute(paddle.nn.functional.softmax(logit), label)
        metrics_list[0].update(correct.numpy())
        return loss, metrics_list, {"loss": loss}

    def infer_forward(self, dy_model, metrics_list, batch_data, config):
        ids, label = self.create_feeds(batch_data, config)
        logit = dy_model.forward(ids)
        correct = metrics_list[0].compute(paddle.nn.functional.softmax(logit), label)
        metrics_list[0].update(correct.numpy())
        return metrics_list, None
