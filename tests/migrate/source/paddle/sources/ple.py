"""Progressive layered extraction: levels of task-specific and shared experts, the first of which reads the input."""

import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class PLELayer(nn.Layer):
    def __init__(self, feature_size, task_num, exp_per_task, shared_num, expert_size, tower_size, level_number):
        super(PLELayer, self).__init__()
        self.task_num = task_num
        self.level_number = level_number

        self.ple_layers = []
        for i in range(0, self.level_number):
            if i == self.level_number - 1:
                level = SinglePLELayer(
                    feature_size, task_num, exp_per_task, shared_num, expert_size, "lev_" + str(i), True
                )
                self.ple_layers.append(self.add_sublayer(name="lev_" + str(i), sublayer=level))
                break
            else:
                level = SinglePLELayer(
                    feature_size, task_num, exp_per_task, shared_num, expert_size, "lev_" + str(i), False
                )
                self.ple_layers.append(self.add_sublayer(name="lev_" + str(i), sublayer=level))
                feature_size = expert_size

        self.towers = nn.LayerList()
        for _ in range(self.task_num):
            self.towers.append(nn.Sequential(nn.Linear(expert_size, tower_size), nn.ReLU(), nn.Linear(tower_size, 2)))

    def forward(self, input_data):
        # one input for every task, one for the shared experts
        inputs_ple = []
        for i in range(0, self.task_num + 1):
            inputs_ple.append(input_data)
        for i in range(0, self.level_number):
            inputs_ple = self.ple_layers[i](inputs_ple)

        return [F.softmax(self.towers[i](inputs_ple[i])) for i in range(self.task_num)]


class SinglePLELayer(nn.Layer):
    def __init__(self, input_feature_size, task_num, exp_per_task, shared_num, expert_size, level_name, if_last):
        super(SinglePLELayer, self).__init__()
        self.task_num = task_num
        self.exp_per_task = exp_per_task
        self.shared_num = shared_num
        self.expert_size = expert_size
        self.if_last = if_last

        self._param_expert = []
        for i in range(0, self.task_num):
            step = self.exp_per_task
            exp_init = [pow(10, -k) for k in range(1 + i * step, step * (i + 1) + 1)]
            for j in range(0, self.exp_per_task):
                linear = nn.Linear(
                    input_feature_size,
                    expert_size,
                    weight_attr=nn.initializer.Constant(value=exp_init[j]),
                    bias_attr=nn.initializer.Constant(value=0.1),
                )
                self.add_sublayer(level_name + "_exp_" + str(i) + "_" + str(j), linear)
                self._param_expert.append(linear)
        for i in range(0, self.shared_num):
            linear = self.add_sublayer(
                name=level_name + "_exp_shared_" + str(i), sublayer=nn.Linear(input_feature_size, expert_size)
            )
            self._param_expert.append(linear)

        self._param_gate = []
        cur_expert_num = self.exp_per_task + self.shared_num
        for i in range(0, self.task_num):
            linear = self.add_sublayer(
                name=level_name + "_gate_" + str(i), sublayer=nn.Linear(input_feature_size, cur_expert_num)
            )
            self._param_gate.append(linear)

        # a gate over every expert feeds the shared experts of the next level
        if not if_last:
            cur_expert_num = self.task_num * self.exp_per_task + self.shared_num
            self._param_gate_shared = nn.Linear(input_feature_size, cur_expert_num)

    def forward(self, input_data):
        expert_outputs = []
        for i in range(0, self.task_num):
            for j in range(0, self.exp_per_task):
                # the index takes task_num for exp_per_task, so with three experts a task some are never used
                linear_out = self._param_expert[i * self.task_num + j](input_data[i])
                expert_outputs.append(F.relu(linear_out))
        for i in range(0, self.shared_num):
            linear_out = self._param_expert[self.exp_per_task * self.task_num + i](input_data[-1])
            expert_outputs.append(F.relu(linear_out))

        outputs = []
        for i in range(0, self.task_num):
            cur_gate = F.softmax(self._param_gate[i](input_data[i]))
            own = expert_outputs[i * self.exp_per_task : (i + 1) * self.exp_per_task]
            outputs.append(self.mix(own + expert_outputs[-int(self.shared_num) :], cur_gate))
        if not self.if_last:
            cur_gate = F.softmax(self._param_gate_shared(input_data[-1]))
            outputs.append(self.mix(expert_outputs, cur_gate))
        return outputs

    def mix(self, experts, gate):
        count = len(experts)
        stacked = paddle.reshape(paddle.concat(x=experts, axis=1), [-1, count, self.expert_size])
        weighted = paddle.multiply(x=stacked, y=gate.reshape([-1, count, 1]))
        return weighted.sum(axis=1)
