// a = momentum * a + g; w -= lr * a, with Nesterov's look-ahead w -= lr * g + lr * momentum * a.
// As tf.compat.v1.train.MomentumOptimizer.
#include <cmath>

#include "store/rules/rules.h"
#include "store/simd.h"

namespace recmigrate::rules {

RECMIGRATE_VECTOR_CLONES
void momentum(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float lr = hyper[0];
  const float factor = hyper[1];
  const float nesterov = hyper[2];
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict a = rows[r] + dim;
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) a[i] = factor * a[i] + g[i];
    if (nesterov == 0.0F) {
      RECMIGRATE_INDEPENDENT
      for (std::size_t i = 0; i < dim; ++i) w[i] -= lr * a[i];
    } else {
      RECMIGRATE_INDEPENDENT
      for (std::size_t i = 0; i < dim; ++i) w[i] -= lr * g[i] + lr * factor * a[i];
    }
  }
}

}  // namespace recmigrate::rules
