"""SASRec: a helper that makes and reads tables, with a row of zeros in front."""

import tensorflow.compat.v1 as tf


def embedding(inputs, vocab_size, num_units, zero_pad=True, scale=True, scope="embedding", with_t=False, reuse=None):
    with tf.variable_scope(scope, reuse=reuse):
        lookup_table = tf.get_variable("lookup_table", dtype=tf.float32, shape=[vocab_size, num_units])
        if zero_pad:
            lookup_table = tf.concat((tf.zeros(shape=[1, num_units]), lookup_table[1:, :]), 0)
        outputs = tf.nn.embedding_lookup(lookup_table, inputs)
        if scale:
            outputs = outputs * (num_units**0.5)
    if with_t:
        return outputs, lookup_table
    return outputs


input_seq, pos, neg = (tf.placeholder(tf.int32, [None, 50]) for _ in range(3))
seq, item_emb_table = embedding(input_seq, 1001, 50, zero_pad=True, scale=True, scope="input_embeddings", with_t=True)
position = tf.tile(tf.expand_dims(tf.range(tf.shape(input_seq)[1]), 0), [tf.shape(input_seq)[0], 1])
seq += embedding(position, 50, 50, zero_pad=False, scale=False, scope="dec_pos")
seq = tf.layers.dense(seq, 50, tf.nn.relu)
pos_emb = tf.nn.embedding_lookup(item_emb_table, pos)
neg_emb = tf.nn.embedding_lookup(item_emb_table, neg)
pos_logits, neg_logits = tf.reduce_sum(pos_emb * seq, -1), tf.reduce_sum(neg_emb * seq, -1)
loss = -tf.reduce_mean(tf.log_sigmoid(pos_logits) + tf.log_sigmoid(-neg_logits))
train_op = tf.train.AdamOptimizer(learning_rate=0.001, beta2=0.98).minimize(loss)
