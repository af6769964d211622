"""Rows that are written to files of SOK's own format.

verdict: stays
says: ; `sok.dump` is called
"""

import sparse_operation_kit as sok
import tensorflow as tf

item = sok.DynamicVariable(dimension=4, initializer="0.5")
rows = sok.all2all_dense_embedding(item, tf.range(4))
sok.dump("folder", [item])
