"""Embeddings of tf.contrib, private modules, canned estimators and other libraries: reported, not converted."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.report.model import State
from migrate.source.rules import Example, register
from migrate.source.tensorflow.base.rule_kinds import File, FileRule, Remark

CONTRIB = {
    "contrib.layers": "tf.contrib",
    "contrib.layers.python.layers.feature_column": "tf.contrib",
    "python.feature_column.feature_column": "a private module",
    "python.feature_column.feature_column_v2": "a private module",
}
PRIVATE_KERAS = ("python.keras.layers", "python.keras.layers.embeddings")
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
    "estimator.DNNLinearCombinedClassifier": "a canned estimator",
    "estimator.DNNLinearCombinedRegressor": "a canned estimator",
    "estimator.DNNClassifier": "a canned estimator",
    "estimator.DNNRegressor": "a canned estimator",
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


@register
class Later(FileRule):
    """Embeddings that the converter knows but does not convert yet: each is a finding."""

    id = "tf-other-embedding"
    title = "Embeddings of tf.contrib, canned estimators, private modules and other libraries are reported"
    foreign = frozenset(LIBRARIES)
    words = "[Ee]mbed|Classifier|Regressor"
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
    )

    def remarks(self, file: File) -> Iterator[Remark]:
        for call, name in file.calls(*FORMS, *LIBRARIES):
            owner = "the library" if name in LIBRARIES else "TensorFlow"
            reason = f"{owner} itself creates and reads its table, instead of a variable and a lookup in this file"
            action = "write it as a variable and a lookup, or keep it dense"
            message = f"{FORMS.get(name) or LIBRARIES[name]} is not converted yet"
            yield Remark(call, self.id, State.UNSUPPORTED, message, reason, action)
