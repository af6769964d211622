// m = b1 * m + (1 - b1) * g;  v = max(b2 * v, |g|);  w -= lr / (1 - b1^t) * m / (v + epsilon).
// As the Adamax of Keras on the rows of a sparse gradient; the power is b1^t.
#include <algorithm>
#include <cmath>

#include "store/rules/rules.h"
#include "store/simd.h"

namespace recmigrate::rules {

RECMIGRATE_VECTOR_CLONES
void adamax(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float step = hyper[0] / (1.0F - hyper[1]);
  const float b1 = hyper[2];
  const float b2 = hyper[3];
  const float epsilon = hyper[4];
  const float rest1 = 1.0F - b1;
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict m = rows[r] + dim;
    float* __restrict v = rows[r] + 2 * dim;
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      m[i] = b1 * m[i] + rest1 * g[i];
      v[i] = std::max(b2 * v[i], std::fabs(g[i]));
      w[i] -= step * m[i] / (v[i] + epsilon);
    }
  }
}

}  // namespace recmigrate::rules
