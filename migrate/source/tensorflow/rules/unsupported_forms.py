"""Embeddings of tf.contrib, private modules, canned estimators and other libraries: reported, not converted."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.report.model import State
from migrate.source.rules import Example, register
from migrate.source.tensorflow.base.rule_kinds import File, FileRule, Remark
from migrate.source.tensorflow.facts.variables.embedding_columns import COLUMNS

CONTRIB = {
    "contrib.layers": "tf.contrib",
    "contrib.layers.python.layers.feature_column": "tf.contrib",
    "python.feature_column.feature_column": "a private module",
    "python.feature_column.feature_column_v2": "a private module",
}
PRIVATE_KERAS = ("python.keras.layers", "python.keras.layers.embeddings")
#: Canned estimators; those of linear models alone have no embedding column.
CANNED = {
    f"estimator.{model}{kind}"
    for model in ("DNN", "DNNLinearCombined", "Linear")
    for kind in ("Classifier", "Regressor", "Estimator")
}
FORMS = {
    "layers.Embedding": "a Keras `Embedding` layer",
    "feature_column.shared_embeddings": "shared embedding columns",
    **{
        f"{module}.{name}": f"`{name}` of {owner}"
        for module, owner in CONTRIB.items()
        for name in ("embedding_column", "shared_embedding_columns", "scattered_embedding_column")
    },
    **{f"{module}.Embedding": "an `Embedding` layer of TensorFlow's private Keras" for module in PRIVATE_KERAS},
    "contrib.layers.embed_sequence": "`embed_sequence`",
    **dict.fromkeys(CANNED, "a canned estimator"),
}
#: By its name in the library that exports it.
LIBRARIES = {
    "sonnet.Embed": "an `Embed` module of Sonnet",
    "tflearn.embedding": "an embedding of TFLearn",
    "tflearn.layers.embedding_ops.embedding": "an embedding of TFLearn",
    "tensorlayer.layers.Embedding": "an embedding of TensorLayer",
    "tensorlayer.layers.EmbeddingInputlayer": "an embedding of TensorLayer",
    "tensorlayer.layers.AverageEmbedding": "an embedding of TensorLayer",
    "tensorlayer.layers.Word2vecEmbedding": "an embedding of TensorLayer",
    "tensorlayer.layers.Word2vecEmbeddingInputlayer": "an embedding of TensorLayer",
    "official.nlp.modeling.layers.OnDeviceEmbedding": "an `OnDeviceEmbedding` of the TensorFlow Model Garden",
    "tensorflow_models.nlp.layers.OnDeviceEmbedding": "an `OnDeviceEmbedding` of the TensorFlow Model Garden",
    "tensorflow_recommenders.layers.embedding.TPUEmbedding": "a `TPUEmbedding`",
    **{
        f"tensorflow_recommenders_addons.dynamic_embedding.{name}": "a dynamic table of TFRA"
        for name in ("get_variable", "Variable", "keras.layers.Embedding", "keras.layers.SquashedEmbedding")
    },
}


_BY_RUN = "train the program with `migrate run`, which finds lookups in the graph, or write a variable and a lookup"
_GROWS = "leave it as it is: it grows already"


@register
class Later(FileRule):
    """Embeddings that the converter knows but does not convert yet: each is a finding."""

    id = "tf-other-embedding"
    title = "Embeddings of tf.contrib, canned estimators, private modules and other libraries are reported"
    foreign = frozenset(LIBRARIES)
    words = "[Ee]mbed|Classifier|Regressor|Linear|linear_model"
    examples = (
        Example(
            "sequence",
            "import tensorflow as tf\ne = tf.contrib.layers.embed_sequence(x, 9, 4)\n",
            says="embed_sequence",
        ),
        Example(
            "another library",
            "import sonnet as snt\nimport tensorflow as tf\nembed = snt.Embed(9, 4)\ne = embed(x)\n",
            says="Sonnet",
        ),
        Example(
            "a linear model",
            "import tensorflow as tf\nmodel = tf.estimator.LinearClassifier(columns)\n",
            says="migrate run",
        ),
        Example(
            "weights of columns",
            "import tensorflow.compat.v1 as tf\nlogits = tf.feature_column.linear_model(features, columns)\n",
            says="linear_model",
        ),
    )

    def remarks(self, file: File) -> Iterator[Remark]:
        for call, name in file.calls(*FORMS, *LIBRARIES):
            if name in CANNED and any(one.calls(*COLUMNS) for one in file.program(call)):
                continue  # each embedding column says so
            owner = "the library" if name in LIBRARIES else "TensorFlow"
            reason = f"{owner} itself creates and looks up its variables, so this file has no lookup to convert"
            action = _GROWS if "tensorflow_recommenders_addons" in name else _BY_RUN
            message = f"{FORMS.get(name) or LIBRARIES[name]} is not converted"
            yield Remark(call, self.id, State.UNSUPPORTED, message, reason, action)
        for call, _ in file.calls("feature_column.linear_model"):
            message = "`linear_model` creates a variable of weights for each column, and these are not listed here"
            reason = "`migrate convert` leaves these variables unchanged"
            yield Remark(call, self.id, State.NOTED, message, reason, "`migrate run` makes tables of those with ids")
