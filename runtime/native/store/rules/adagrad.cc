// s += g * g; w -= lr * g / (sqrt(s) + epsilon), or / sqrt(s + epsilon) for the form with epsilon inside the root.
// In `apart`, the sum of the squares of a row's gradients takes the place of g * g.
#include <cmath>

#include "store/rules/rules.h"
#include "store/simd.h"

namespace recmigrate::rules {

RECMIGRATE_VECTOR_CLONES
void adagrad(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float lr = hyper[0];
  const float epsilon = hyper[1];
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict s = rows[r] + dim;
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      s[i] += g[i] * g[i];
      w[i] -= lr * g[i] / (std::sqrt(s[i]) + epsilon);
    }
  }
}

RECMIGRATE_VECTOR_CLONES
void adagrad_inside(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float lr = hyper[0];
  const float epsilon = hyper[1];
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict s = rows[r] + dim;
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      s[i] += g[i] * g[i];
      w[i] -= lr * g[i] / std::sqrt(s[i] + epsilon);
    }
  }
}

RECMIGRATE_VECTOR_CLONES
void adagrad_apart(const float* hyper, float* const* rows, const float* grads, const float* squares, std::size_t count,
                   std::size_t dim) {
  const float lr = hyper[0];
  const float epsilon = hyper[1];
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict s = rows[r] + dim;
    const float* __restrict g = grads + r * dim;
    const float* __restrict q = squares + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      s[i] += q[i];
      w[i] -= lr * g[i] / (std::sqrt(s[i]) + epsilon);
    }
  }
}

}  // namespace recmigrate::rules
