// s += g * g; w -= lr * g / (sqrt(s) + epsilon), or / sqrt(s + epsilon) for the form with epsilon inside the root.
// In `apart`, the sum of the squares of a row's gradients takes the place of g * g.
#include <cmath>

#include "store/rules/rules.h"
#include "store/simd.h"

namespace recmigrate::rules {

template <bool kInside, bool kApart>
RECMIGRATE_INLINE void adagrad_of(const float* hyper, float* const* rows, const float* grads, const float* squares,
                                  std::size_t count, std::size_t dim) {
  const float lr = hyper[0];
  const float epsilon = hyper[1];
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict s = rows[r] + dim;
    const float* __restrict g = grads + r * dim;
    const float* __restrict q = squares + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      s[i] += kApart ? q[i] : g[i] * g[i];
      w[i] -= lr * g[i] / (kInside ? std::sqrt(s[i] + epsilon) : std::sqrt(s[i]) + epsilon);
    }
  }
}

RECMIGRATE_VECTOR_CLONES
void adagrad(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  adagrad_of<false, false>(hyper, rows, grads, grads, count, dim);
}

RECMIGRATE_VECTOR_CLONES
void adagrad_inside(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  adagrad_of<true, false>(hyper, rows, grads, grads, count, dim);
}

RECMIGRATE_VECTOR_CLONES
void adagrad_apart(const float* hyper, float* const* rows, const float* grads, const float* squares, std::size_t count,
                   std::size_t dim) {
  adagrad_of<false, true>(hyper, rows, grads, squares, count, dim);
}

}  // namespace recmigrate::rules
