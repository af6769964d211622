"""DIN: items and their categories, a category looked up by a constant list, attention over the history."""

import tensorflow.compat.v1 as tf


class Model:
    def __init__(self, user_count, item_count, cate_count, cate_list):
        self.u, self.i, self.j = (tf.placeholder(tf.int32, [None]) for _ in range(3))
        self.y = tf.placeholder(tf.float32, [None])
        self.hist_i, self.sl = tf.placeholder(tf.int32, [None, None]), tf.placeholder(tf.int32, [None])
        self.lr = tf.placeholder(tf.float64, [])
        hidden_units = 128
        user_emb_w = tf.get_variable("user_emb_w", [user_count, hidden_units])
        item_emb_w = tf.get_variable("item_emb_w", [item_count, hidden_units // 2])
        item_b = tf.get_variable("item_b", [item_count], initializer=tf.constant_initializer(0.0))
        cate_emb_w = tf.get_variable("cate_emb_w", [cate_count, hidden_units // 2])
        cate_list = tf.convert_to_tensor(cate_list, dtype=tf.int64)
        ic = tf.gather(cate_list, self.i)
        i_emb = tf.concat([tf.nn.embedding_lookup(item_emb_w, self.i), tf.nn.embedding_lookup(cate_emb_w, ic)], axis=1)
        i_b = tf.gather(item_b, self.i)
        hc = tf.gather(cate_list, self.hist_i)
        h_emb = tf.concat([tf.nn.embedding_lookup(item_emb_w, self.hist_i), tf.nn.embedding_lookup(cate_emb_w, hc)], 2)
        u_emb = tf.nn.embedding_lookup(user_emb_w, self.u)
        mask = tf.sequence_mask(self.sl, tf.shape(h_emb)[1], dtype=tf.float32)
        weights = tf.nn.softmax(tf.reduce_sum(h_emb * tf.expand_dims(i_emb, 1), 2) * mask)
        hist = tf.reduce_sum(h_emb * tf.expand_dims(weights, 2), 1)
        din = tf.layers.dense(tf.concat([hist, i_emb, u_emb], 1), 80, tf.nn.sigmoid)
        self.logits = i_b + tf.reshape(tf.layers.dense(din, 1), [-1])
        self.global_step = tf.Variable(0, trainable=False, name="global_step")
        self.loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=self.logits, labels=self.y))
        trainable_params = tf.trainable_variables()
        self.opt = tf.train.GradientDescentOptimizer(learning_rate=self.lr)
        gradients = tf.gradients(self.loss, trainable_params)
        clip_gradients, _ = tf.clip_by_global_norm(gradients, 5)
        self.train_op = self.opt.apply_gradients(zip(clip_gradients, trainable_params), global_step=self.global_step)
