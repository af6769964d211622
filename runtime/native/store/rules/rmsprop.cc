// s += (1 - decay) * (g * g - s);  m = momentum * m + lr * g / sqrt(s + epsilon);  w -= m. The centered form takes the
// square of the mean gradient a += (1 - decay) * (g - a) off s. As tf.compat.v1.train.RMSPropOptimizer, whose s starts
// at 1.
#include <cmath>

#include "store/rules/rules.h"
#include "store/simd.h"

namespace recmigrate::rules {

RECMIGRATE_VECTOR_CLONES
void rmsprop(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float lr = hyper[0];
  const float decay = hyper[1];
  const float momentum = hyper[2];
  const float epsilon = hyper[3];
  const float rest = 1.0F - decay;
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict s = rows[r] + dim;
    float* __restrict m = rows[r] + 2 * dim;
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      s[i] += (g[i] * g[i] - s[i]) * rest;
      m[i] = m[i] * momentum + lr * g[i] / std::sqrt(s[i] + epsilon);
      w[i] -= m[i];
    }
  }
}

RECMIGRATE_VECTOR_CLONES
void rmsprop_centered(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float lr = hyper[0];
  const float decay = hyper[1];
  const float momentum = hyper[2];
  const float epsilon = hyper[3];
  const float rest = 1.0F - decay;
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict s = rows[r] + dim;
    float* __restrict m = rows[r] + 2 * dim;
    float* __restrict a = rows[r] + 3 * dim;
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      s[i] += (g[i] * g[i] - s[i]) * rest;
      a[i] += (g[i] - a[i]) * rest;
      m[i] = m[i] * momentum + lr * g[i] / std::sqrt(s[i] + epsilon - a[i] * a[i]);
      w[i] -= m[i];
    }
  }
}

}  // namespace recmigrate::rules
