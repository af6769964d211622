// w -= lr * (g + decay * w). Without decay the term is left out, to be bit-equal to TensorFlow.
#include <cmath>

#include "store/rules/rules.h"
#include "store/simd.h"

namespace recmigrate::rules {

RECMIGRATE_VECTOR_CLONES
void sgd(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float lr = hyper[0];
  const float decay = hyper[1];
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    const float* __restrict g = grads + r * dim;
    if (decay == 0.0F) {
      RECMIGRATE_INDEPENDENT
      for (std::size_t i = 0; i < dim; ++i) w[i] -= lr * g[i];
    } else {
      RECMIGRATE_INDEPENDENT
      for (std::size_t i = 0; i < dim; ++i) w[i] -= lr * (g[i] + decay * w[i]);
    }
  }
}

}  // namespace recmigrate::rules
