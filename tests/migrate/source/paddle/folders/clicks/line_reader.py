"""Lines such as `1 city:3 pages:7,2 words:5`: the click, and ids by slot; what a line does not name is id 0."""
import sys

import paddle.distributed.fleet as fleet


class LineReader(fleet.MultiSlotDataGenerator):
    def init(self, config):
        self.slots = config.get("hyper_parameters.slots")

    def generate_sample(self, line):
        def samples():
            click, *parts = line.split()
            found = dict(part.split(":") for part in parts)
            ids = {name: [int(one) for one in text.split(",")] for name, text in found.items()}
            first = [("show", [1]), ("click", [int(click)]), ("city", ids.get("city", [0]))]
            yield first + [(name, ids.get(name, [0])) for name in self.slots]

        return samples


if __name__ == "__main__":
    reader = LineReader()
    reader.init({"hyper_parameters.slots": sys.argv[1:]})
    reader.run_from_stdin()
