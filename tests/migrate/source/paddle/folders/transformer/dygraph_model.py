import paddle
import paddle.nn.functional as F

from net import Behaviour


class DygraphModel():
    def create_model(self, config):
        names = ["items", "kinds", "length", "width", "heads", "blocks"]
        return Behaviour(*[config.get("hyper_parameters." + name) for name in names])

    def create_feeds(self, batch_data, config):
        history, kinds, target, label = (item.astype("int64") for item in batch_data)
        return history, kinds, target, label

    def create_loss(self, raw, label):
        return paddle.mean(F.binary_cross_entropy_with_logits(raw, label.astype("float32"), reduction='none'))

    def create_optimizer(self, dy_model, config):
        clip = paddle.nn.ClipGradByNorm(clip_norm=1.0)
        warm = paddle.optimizer.lr.LinearWarmup(
            learning_rate=0.02, warmup_steps=4, start_lr=0.0, end_lr=0.02)
        return paddle.optimizer.Adam(learning_rate=warm, parameters=dy_model.parameters(), grad_clip=clip)

    def create_metrics(self):
        return [paddle.metric.Auc("ROC")], ["auc"]

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        *inputs, label = self.create_feeds(batch_data, config)
        raw = dy_model(*inputs)
        loss = self.create_loss(raw, label)
        pred = F.sigmoid(raw)
        metrics_list[0].update(preds=paddle.concat([1 - pred, pred], axis=1).numpy(), labels=label.numpy())
        return loss, metrics_list, {'loss': loss}

    @paddle.no_grad()
    def infer_forward(self, dy_model, metrics_list, batch_data, config):
        *inputs, label = self.create_feeds(batch_data, config)
        pred = F.sigmoid(dy_model(*inputs))
        metrics_list[0].update(preds=paddle.concat([1 - pred, pred], axis=1).numpy(), labels=label.numpy())
        return metrics_list, None
