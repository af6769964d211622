import paddle
import paddle.nn.functional as F

from net import Clicks


class StaticModel:
    def __init__(self, config):
        self.config = config
        self.slots = config.get("hyper_parameters.slots")
        self.rate = config.get("hyper_parameters.optimizer.learning_rate")

    def create_feeds(self, is_infer=False):
        show = paddle.static.data(name="show", shape=[None, 1], dtype="int64", lod_level=1)
        click = paddle.static.data(name="click", shape=[None, 1], dtype="int64")
        city = paddle.static.data("city", [-1, 1], "int64")
        ids = [paddle.static.data(name=name, shape=[None, 1], dtype="int64", lod_level=1) for name in self.slots]
        return [show, click, city] + ids

    def net(self, input, is_infer=False):
        show, click, city = input[:3]
        settings = [self.config.get("hyper_parameters." + name) for name in ("rows", "width", "sizes")]
        self.predict = Clicks(*settings, self.slots).forward(show, click, city, input[3:])
        both = paddle.concat(x=[1 - self.predict, self.predict], axis=1)
        auc, _, _ = paddle.static.auc(input=both, label=click, slide_steps=0)
        if is_infer:
            return {"auc": auc}
        # the loss of a batch
        self._cost = paddle.mean(F.log_loss(input=self.predict, label=paddle.cast(click, "float32")))
        return {"cost": self._cost, "auc": auc}

    def create_optimizer(self, strategy=None):
        optimizer = paddle.optimizer.Adam(learning_rate=self.rate, lazy_mode=True)
        if strategy is not None:
            import paddle.distributed.fleet as fleet

            optimizer = fleet.distributed_optimizer(optimizer, strategy)
        optimizer.minimize(self._cost)

    def infer_net(self, input):
        return self.net(input, is_infer=True)
