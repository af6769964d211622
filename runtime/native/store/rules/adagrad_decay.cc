// Adagrad with decay: every so many steps the accumulator shrinks, never below the baseline. A row that was not touched
// catches up one period per update, as in DeepRec. p is its number of periods so far, `periods` the number of all.
//   if p < periods: s = max(s * rate, baseline), p += 1;   s += g * g;  w -= lr * g / sqrt(s)
#include <cmath>

#include "store/rules/rules.h"
#include "store/simd.h"

namespace recmigrate::rules {

RECMIGRATE_VECTOR_CLONES
void adagrad_decay(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float lr = hyper[0];
  const float periods = hyper[1];
  const float rate = hyper[2];
  const float baseline = hyper[3];
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict s = rows[r] + dim;
    float* __restrict p = rows[r] + 2 * dim;
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      const bool behind = p[i] < periods;
      const float shrunk = std::fmax(s[i] * rate, baseline);
      s[i] = (behind ? shrunk : s[i]) + g[i] * g[i];
      p[i] += behind ? 1.0F : 0.0F;
      w[i] -= lr * g[i] / std::sqrt(s[i]);
    }
  }
}

}  // namespace recmigrate::rules
