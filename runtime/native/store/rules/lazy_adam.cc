// m = b1 * m + (1 - b1) * g;  v = b2 * v + (1 - b2) * g * g;
// w -= lr * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(|v|) + epsilon); the AdamW form takes lr * decay * w off first.
#include <cmath>

#include "store/rules/rules.h"
#include "store/simd.h"

namespace recmigrate::rules {

template <bool kDecays>
RECMIGRATE_INLINE void lazy_adam_of(const float* hyper, float* const* rows, const float* grads, std::size_t count,
                                    std::size_t dim) {
  const float lr = hyper[0];
  const float power1 = hyper[1];
  const float power2 = hyper[2];
  const float b1 = hyper[3];
  const float b2 = hyper[4];
  const float epsilon = hyper[5];
  const float step = lr * std::sqrt(1.0F - power2) / (1.0F - power1);
  const float rest1 = 1.0F - b1;
  const float rest2 = 1.0F - b2;
  const float shrink = kDecays ? lr * hyper[6] : 0.0F;
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict m = rows[r] + dim;
    float* __restrict v = rows[r] + 2 * dim;
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      m[i] = b1 * m[i] + rest1 * g[i];
      v[i] = b2 * v[i] + rest2 * (g[i] * g[i]);
      if constexpr (kDecays) w[i] -= shrink * w[i];
      w[i] -= step * m[i] / (std::sqrt(std::fabs(v[i])) + epsilon);
    }
  }
}

RECMIGRATE_VECTOR_CLONES
void lazy_adam(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  lazy_adam_of<false>(hyper, rows, grads, count, dim);
}

RECMIGRATE_VECTOR_CLONES
void lazy_adamw(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  lazy_adam_of<true>(hyper, rows, grads, count, dim);
}

}  // namespace recmigrate::rules
