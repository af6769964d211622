// FTRL-proximal as tf.compat.v1.train.FtrlOptimizer, and the group-lasso form, where l1 weighs the norm of the row.
//   n' = n + g * g;  z += g + 2 * shrinkage * w - (n'^p - n^p) / lr * w;  q = n'^p / lr + 2 * l2;  p =
//   -learning_rate_power w = |z| > l1 ? (sign(z) * l1 - z) / q : 0;   by group  ||z|| > l1 ? -z * (1 - l1 / ||z||) / q
//   : 0
// TensorFlow adds beta / (2 * lr) to l2; so does this.
#include <cmath>

#include "store/rules/rules.h"
#include "store/simd.h"

namespace recmigrate::rules {
namespace {

struct Settings {
  explicit Settings(const float* hyper)
      : lr(hyper[0]),
        l1(hyper[1]),
        l2(hyper[2] + hyper[5] / (2.0F * hyper[0])),
        shrinkage(hyper[3]),
        power(-hyper[4]) {}

  const float lr;
  const float l1;
  const float l2;
  const float shrinkage;
  const float power;
};

RECMIGRATE_VECTOR_CLONES
void roots(float* __restrict out, const float* __restrict n, std::size_t dim) noexcept {
  RECMIGRATE_INDEPENDENT
  for (std::size_t i = 0; i < dim; ++i) out[i] = std::sqrt(n[i]);
}

// n^power; the usual power is a square root, which is bit-equal everywhere.
void powers(float* out, const float* n, float power, std::size_t dim) noexcept {
  if (power == 0.5F) return roots(out, n, dim);
  RECMIGRATE_INDEPENDENT
  for (std::size_t i = 0; i < dim; ++i) out[i] = std::pow(n[i], power);
}

constexpr std::size_t kPiece = 64;  // columns at a time, so that the scratch fits on the stack

// Advances n and z; leaves q in `quadratic`.
RECMIGRATE_VECTOR_CLONES
void accumulate(const float* before, const float* after, float lr, float l2, float shrinkage, const float* __restrict w,
                const float* __restrict g, float* __restrict z, float* __restrict quadratic, std::size_t dim) noexcept {
  RECMIGRATE_INDEPENDENT
  for (std::size_t i = 0; i < dim; ++i) {
    const float shrunk = g[i] + 2.0F * shrinkage * w[i];
    z[i] += shrunk - (after[i] - before[i]) / lr * w[i];
    quadratic[i] = after[i] / lr + 2.0F * l2;
  }
}

void advance(const Settings& set, const float* w, const float* g, float* n, float* z, float* quadratic,
             std::size_t dim) noexcept {
  float before[kPiece];
  float after[kPiece];
  powers(before, n, set.power, dim);
  RECMIGRATE_INDEPENDENT
  for (std::size_t i = 0; i < dim; ++i) n[i] += g[i] * g[i];
  powers(after, n, set.power, dim);
  accumulate(before, after, set.lr, set.l2, set.shrinkage, w, g, z, quadratic, dim);
}

}  // namespace

void ftrl(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const Settings set(hyper);
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t at = 0; at < dim; at += kPiece) {
      const std::size_t some = at + kPiece < dim ? kPiece : dim - at;
      float* const w = rows[r] + at;
      float* const z = rows[r] + 2 * dim + at;
      float quadratic[kPiece];
      advance(set, w, grads + r * dim + at, rows[r] + dim + at, z, quadratic, some);
      RECMIGRATE_INDEPENDENT
      for (std::size_t i = 0; i < some; ++i) {
        w[i] = std::fabs(z[i]) <= set.l1 ? 0.0F : (std::copysign(set.l1, z[i]) - z[i]) / quadratic[i];  // or NaN
      }
    }
  }
}

void group_ftrl(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim) {
  const Settings set(hyper);
  for (std::size_t r = 0; r < count; ++r) {
    float* const w = rows[r];
    float* const n = rows[r] + dim;
    float* const z = rows[r] + 2 * dim;
    float quadratic[kPiece];
    for (std::size_t at = 0; at < dim; at += kPiece) {
      const std::size_t some = at + kPiece < dim ? kPiece : dim - at;
      advance(set, w + at, grads + r * dim + at, n + at, z + at, quadratic, some);
      RECMIGRATE_INDEPENDENT
      for (std::size_t i = 0; i < some; ++i) w[at + i] = -z[at + i] / quadratic[i];
    }
    float square = 0.0F;
    for (std::size_t i = 0; i < dim; ++i) square += z[i] * z[i];
    const float norm = std::sqrt(square);
    const float kept = norm > set.l1 ? 1.0F - set.l1 / norm : 0.0F;
    RECMIGRATE_INDEPENDENT
    for (std::size_t i = 0; i < dim; ++i) w[i] = kept == 0.0F ? 0.0F : w[i] * kept;
  }
}

}  // namespace recmigrate::rules
