// Steps to the nearest point of a proximal term: the row of a plain step with rate r shrinks by r * l1, and by r * l2.
//   w = sign(p) * max(|p| - r * l1, 0) / (1 + r * l2) where p = w - r * g
// proximal_sgd has r = lr; proximal_adagrad s += g * g; r = lr / sqrt(s). adagrad_da, with dual averaging, forgets w:
//   a += g;  s += g * g;  w = -sign(a) * max(|a| / t - l1, 0) / (l2 + sqrt(s) / (t * lr)) at step t
// As tf.compat.v1.train.ProximalAdagradOptimizer, ProximalGradientDescentOptimizer and AdagradDAOptimizer.
#include <algorithm>
#include <cmath>

#include "store/rules/rules.h"
#include "store/simd.h"

namespace recmigrate::rules {

RECMIGRATE_INLINE float shrunk(float value, float by) {
  return std::copysign(std::max(std::fabs(value) - by, 0.0F), value);
}

RECMIGRATE_VECTOR_CLONES
void proximal_adagrad(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float lr = hyper[0];
  const float l1 = hyper[1];
  const float l2 = hyper[2];
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict s = rows[r] + dim;
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      s[i] += g[i] * g[i];
      const float rate = lr / std::sqrt(s[i]);
      w[i] = shrunk(w[i] - g[i] * rate, rate * l1) / (1.0F + l2 * rate);
    }
  }
}

RECMIGRATE_VECTOR_CLONES
void proximal_sgd(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float lr = hyper[0];
  const float least = hyper[0] * hyper[1];
  const float divisor = 1.0F + hyper[0] * hyper[2];
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) w[i] = shrunk(w[i] - g[i] * lr, least) / divisor;
  }
}

RECMIGRATE_VECTOR_CLONES
void adagrad_da(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float l1 = hyper[1];
  const float l2 = hyper[2];
  const float steps = hyper[3];
  const float scale = steps * hyper[0];
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict a = rows[r] + dim;
    float* __restrict s = rows[r] + 2 * dim;
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      a[i] += g[i];
      s[i] += g[i] * g[i];
      w[i] = -shrunk(a[i] / steps, l1) / (l2 + std::sqrt(s[i]) / scale);
    }
  }
}

}  // namespace recmigrate::rules
