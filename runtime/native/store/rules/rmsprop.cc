// s += (1 - decay) * (g * g - s);  m = momentum * m + lr * g / sqrt(s + epsilon);  w -= m. The centered form takes the
// square of the mean gradient a += (1 - decay) * (g - a) off s. As tf.compat.v1.train.RMSPropOptimizer, whose s starts
// at 1.
#include <cmath>

#include "store/rules/rules.h"
#include "store/simd.h"

namespace recmigrate::rules {

template <bool kCentered>
RECMIGRATE_INLINE void rmsprop_of(const float* hyper, float* const* rows, const float* grads, std::size_t count,
                                  std::size_t dim) {
  const float lr = hyper[0];
  const float decay = hyper[1];
  const float momentum = hyper[2];
  const float epsilon = hyper[3];
  const float rest = 1.0F - decay;
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict s = rows[r] + dim;
    float* __restrict m = rows[r] + 2 * dim;
    float* __restrict a = rows[r] + 3 * dim;  // of the centered form
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      s[i] += (g[i] * g[i] - s[i]) * rest;
      if constexpr (kCentered) a[i] += (g[i] - a[i]) * rest;
      const float spread = kCentered ? s[i] + epsilon - a[i] * a[i] : s[i] + epsilon;
      m[i] = m[i] * momentum + lr * g[i] / std::sqrt(spread);
      w[i] -= m[i];
    }
  }
}

RECMIGRATE_VECTOR_CLONES
void rmsprop(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  rmsprop_of<false>(hyper, rows, grads, count, dim);
}

RECMIGRATE_VECTOR_CLONES
void rmsprop_centered(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  rmsprop_of<true>(hyper, rows, grads, count, dim);
}

}  // namespace recmigrate::rules
