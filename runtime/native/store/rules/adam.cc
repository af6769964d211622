// The step of a row with a gradient, for optimizers that also move other rows (see updates/deferred.h).
//   adam, keras_adam    m = b1 * m + (1 - b1) * g;  v = b2 * v + (1 - b2) * g * g;  w -= step * m / (sqrt(v) + epsilon)
//   adam_scaled         as adam, with the epsilon of this step
//   keras_adamw         w -= w * decay * lr first
//   keras_momentum      a = momentum * a - lr * g;  w += a, with Nesterov w += momentum * a - lr * g
// In `apart`, the sum of the squares of a row's gradients takes the place of g * g.
#include <cmath>

#include "store/rules/rules.h"
#include "store/simd.h"

namespace recmigrate::rules {

RECMIGRATE_VECTOR_CLONES
void adam(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float step = hyper[0];
  const float b1 = hyper[1];
  const float b2 = hyper[2];
  const float epsilon = hyper[3];
  const float rest1 = 1.0F - b1;
  const float rest2 = 1.0F - b2;
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict m = rows[r] + dim;
    float* __restrict v = rows[r] + 2 * dim;
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      m[i] = m[i] * b1 + g[i] * rest1;
      v[i] = v[i] * b2 + (g[i] * g[i]) * rest2;
      w[i] -= step * m[i] / (std::sqrt(v[i]) + epsilon);
    }
  }
}

void adam_scaled(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float own[] = {hyper[0], hyper[1], hyper[2], hyper[4]};
  adam(own, rows, grads, count, dim);
}

// Keras computes m - (1 - b1) m, with 1 - b1 rounded to a float.
template <bool kApart>
RECMIGRATE_INLINE void keras_adam_of(const float* hyper, float* const* rows, const float* grads, const float* squares,
                                     std::size_t count, std::size_t dim) {
  const float step = hyper[0];
  const float rest1 = hyper[1];
  const float rest2 = hyper[2];
  const float epsilon = hyper[3];
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict m = rows[r] + dim;
    float* __restrict v = rows[r] + 2 * dim;
    const float* __restrict g = grads + r * dim;
    const float* __restrict q = squares + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      m[i] = m[i] - m[i] * rest1 + g[i] * rest1;
      v[i] = v[i] - v[i] * rest2 + (kApart ? q[i] : g[i] * g[i]) * rest2;
      w[i] -= m[i] * step / (std::sqrt(v[i]) + epsilon);
    }
  }
}

RECMIGRATE_VECTOR_CLONES
void keras_adam(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  keras_adam_of<false>(hyper, rows, grads, grads, count, dim);
}

RECMIGRATE_VECTOR_CLONES
void keras_adam_apart(const float* hyper, float* const* rows, const float* grads, const float* squares,
                      std::size_t count, std::size_t dim) {
  keras_adam_of<true>(hyper, rows, grads, squares, count, dim);
}

RECMIGRATE_VECTOR_CLONES
static void decay_rows(float decay, float lr, float* const* rows, std::size_t count, std::size_t dim) {
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) w[i] -= w[i] * decay * lr;
  }
}

void keras_adamw(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  decay_rows(hyper[4], hyper[5], rows, count, dim);
  keras_adam(hyper, rows, grads, count, dim);
}

void keras_adamw_apart(const float* hyper, float* const* rows, const float* grads, const float* squares,
                       std::size_t count, std::size_t dim) {
  decay_rows(hyper[4], hyper[5], rows, count, dim);
  keras_adam_apart(hyper, rows, grads, squares, count, dim);
}

RECMIGRATE_VECTOR_CLONES
void keras_momentum(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const float lr = hyper[0];
  const float momentum = hyper[1];
  const bool nesterov = hyper[2] != 0.0F;
  for (std::size_t r = 0; r < count; ++r) {
    float* __restrict w = rows[r];
    float* __restrict a = rows[r] + dim;
    const float* __restrict g = grads + r * dim;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) {
      const float pull = g[i] * lr;
      a[i] = a[i] * momentum - pull;
      w[i] += nesterov ? a[i] * momentum - pull : a[i];
    }
  }
}

}  // namespace recmigrate::rules
