"""What the trainer needs around the network: the model, its inputs, loss, optimizer and metrics."""

import paddle

import net


class DygraphModel():
    def create_model(self, config):
        feature_size = config.get('hyper_parameters.feature_size', None)
        expert_num = config.get('hyper_parameters.expert_num', None)
        expert_size = config.get('hyper_parameters.expert_size', None)
        tower_size = config.get('hyper_parameters.tower_size', None)
        gate_num = config.get('hyper_parameters.gate_num', None)

        return net.MMoELayer(feature_size, expert_num, expert_size, tower_size, gate_num)

    # one row of the batch: the input columns, then the label of each task
    def create_feeds(self, batch_data, config):
        feature_size = config.get('hyper_parameters.feature_size', None)
        input_data = paddle.to_tensor(batch_data[0].numpy().astype('float32').reshape(-1, feature_size))
        label_income = paddle.to_tensor(batch_data[1].numpy().astype('float32').reshape(-1, 1))
        label_marital = paddle.to_tensor(batch_data[2].numpy().astype('float32').reshape(-1, 1))
        return input_data, label_income, label_marital

    # the tasks count alike
    def create_loss(self, pred_income, pred_marital, label_income, label_marital):
        pred_income_1d = paddle.slice(pred_income, axes=[1], starts=[1], ends=[2])
        pred_marital_1d = paddle.slice(pred_marital, axes=[1], starts=[1], ends=[2])
        cost_income = paddle.nn.functional.log_loss(input=pred_income_1d, label=label_income)
        cost_marital = paddle.nn.functional.log_loss(input=pred_marital_1d, label=label_marital)

        avg_cost_income = paddle.mean(x=cost_income)
        avg_cost_marital = paddle.mean(x=cost_marital)

        cost = avg_cost_income + avg_cost_marital
        return cost

    def create_optimizer(self, dy_model, config):
        lr = config.get('hyper_parameters.optimizer.learning_rate', 0.001)
        return paddle.optimizer.Adam(learning_rate=lr, parameters=dy_model.parameters())

    def create_metrics(self):
        metrics_list_name = ['auc_income', 'auc_marital']
        metrics_list = [paddle.metric.Auc('ROC'), paddle.metric.Auc('ROC')]
        return metrics_list, metrics_list_name

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        input_data, label_income, label_marital = self.create_feeds(batch_data, config)
        pred_income, pred_marital = dy_model.forward(input_data)
        loss = self.create_loss(pred_income, pred_marital, label_income, label_marital)

        metrics_list[0].update(preds=pred_income.numpy(), labels=label_income.numpy())
        metrics_list[1].update(preds=pred_marital.numpy(), labels=label_marital.numpy())
        return loss, metrics_list, {'loss': loss}
