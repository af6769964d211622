import paddle
import paddle.nn as nn
import paddle.nn.functional as F
import net


class DygraphModel():
    # define model
    def create_model(self, config):
        hyper = {k.split(".")[-1]: v for k, v in config.items() if k.startswith("hyper_parameters.net")}
        return net.Towers(**hyper)

    # define feeds which convert numpy of batch data to paddle.tensor
    def create_feeds(self, batch_data, config):
        query = paddle.to_tensor(batch_data[0].numpy(), dtype="int64")
        titles = [paddle.to_tensor(item.numpy(), dtype="int64") for item in batch_data[1:]]
        return query, titles

    # the clicked title is the first
    def create_loss(self, scores, among, margin):
        probability = F.softmax(scores, axis=1)
        clicked = paddle.slice(probability, axes=[0, 1], starts=[0, 0], ends=[scores.shape[0], 1])
        loss = -paddle.mean(paddle.log(clicked + 1e-8))
        worst = paddle.max(scores[:, 1:], axis=1, keepdim=True)
        hinge = F.relu(margin - scores[:, 0:1] + worst)
        near = F.margin_ranking_loss(scores[:, 0], scores[:, 1], paddle.ones_like(scores[:, 0]), margin=margin)
        return loss + 0.5 * paddle.mean(hinge) + 0.1 * near + 0.01 * paddle.mean(paddle.abs(among))

    # define optimizer
    def create_optimizer(self, dy_model, config):
        lr = config.get("hyper_parameters.optimizer.learning_rate", 0.001)
        return paddle.optimizer.Adagrad(learning_rate=lr, parameters=dy_model.parameters(), epsilon=1e-6)

    def create_metrics(self):
        metrics_list_name = []
        metrics_list = []
        return metrics_list, metrics_list_name

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        query, titles = self.create_feeds(batch_data, config)
        scores, among = dy_model.forward(query, titles)
        loss = self.create_loss(scores, among, dy_model.margin)
        print_dict = {"loss": loss}
        return loss, metrics_list, print_dict

    def infer_forward(self, dy_model, metrics_list, batch_data, config):
        query, titles = self.create_feeds(batch_data, config)
        near = dy_model.forward(query, titles, True)
        print_dict = {"near": near}
        return metrics_list, print_dict
