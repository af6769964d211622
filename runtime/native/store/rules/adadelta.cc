// s = rho * s + (1 - rho) * g * g;  u = g * sqrt(d + epsilon) / sqrt(s + epsilon);  w -= lr * u;
// d = rho * d + (1 - rho) * u * u. As tf.compat.v1.train.AdadeltaOptimizer.
#include <cmath>

#include "store/rules/rules.h"
#include "store/simd.h"

namespace recmigrate::rules {

RECMIGRATE_VECTOR_CLONES
void adadelta(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float lr = hyper[0];
  const float rho = hyper[1];
  const float epsilon = hyper[2];
  const float rest = 1.0F - rho;
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict s = rows[r] + dim;
    float* __restrict d = rows[r] + 2 * dim;
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      s[i] = s[i] * rho + g[i] * g[i] * rest;
      const float u = std::sqrt(d[i] + epsilon) / std::sqrt(s[i] + epsilon) * g[i];
      w[i] -= lr * u;
      d[i] = d[i] * rho + u * u * rest;
    }
  }
}

}  // namespace recmigrate::rules
