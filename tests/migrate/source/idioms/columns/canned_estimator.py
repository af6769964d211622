"""A canned estimator, such as `DNNLinearCombinedClassifier`.

verdict: stays
says: ; a canned estimator creates the variables itself
"""

import tensorflow.compat.v1 as tf

item = tf.feature_column.categorical_column_with_identity("item", 20)
column = tf.feature_column.embedding_column(item, 4)
model = tf.estimator.DNNLinearCombinedClassifier(dnn_feature_columns=[column], dnn_hidden_units=[8])
