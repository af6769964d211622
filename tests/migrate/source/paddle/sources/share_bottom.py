"""One bottom layer under a tower for every task; the bottom starts as Paddle's default."""

import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class ShareBottomLayer(nn.Layer):
    def __init__(self, feature_size, task_num, bottom_size, tower_size):
        super(ShareBottomLayer, self).__init__()
        self.task_num = task_num

        # registered under two names: the parameters belong to the first
        self._param_bottom = self.add_sublayer(
            name="bottom",
            sublayer=nn.Linear(
                feature_size,
                bottom_size,
                # weight_attr=nn.initializer.Constant(value=0.1),
                bias_attr=paddle.ParamAttr(learning_rate=1.0),
                name="bottom",
            ),
        )

        self._param_tower = []
        self._param_tower_out = []
        for i in range(0, self.task_num):
            tower = self.add_sublayer("tower_%d" % i, nn.Linear(bottom_size, tower_size))
            self._param_tower.append(tower)
            out = self.add_sublayer(f"tower_out_{i}", nn.Linear(tower_size, 2, bias_attr=False))
            self._param_tower_out.append(out)

    def forward(self, input_data):
        bottom_out = F.relu(self._param_bottom(input_data))
        output_layers = []
        for i in range(0, self.task_num):
            cur_tower = F.relu(self._param_tower[i](bottom_out))
            out = F.softmax(self._param_tower_out[i](cur_tower))
            output_layers.append(paddle.clip(out, min=1e-15, max=1.0 - 1e-15))
        return output_layers
