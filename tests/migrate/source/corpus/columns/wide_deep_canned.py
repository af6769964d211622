"""A canned wide & deep Estimator over columns."""

import tensorflow.compat.v1 as tf

age = tf.feature_column.numeric_column("age")
job = tf.feature_column.categorical_column_with_hash_bucket("job", 1000)
city = tf.feature_column.categorical_column_with_vocabulary_list("city", ["a", "b", "c"])
wide = [job, city, tf.feature_column.crossed_column(["job", "city"], 1000)]
deep = [age, tf.feature_column.embedding_column(job, 8), tf.feature_column.indicator_column(city)]
estimator = tf.estimator.DNNLinearCombinedClassifier(
    model_dir="model", linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[32, 16]
)
