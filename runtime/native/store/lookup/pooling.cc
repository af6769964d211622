#include "store/lookup/pooling.h"

#include <cmath>

#include "store/errors.h"
#include "store/simd.h"

namespace recmigrate {
namespace {

template <std::size_t kCount>
[[gnu::always_inline]] inline void add_piece(float* __restrict out, const float* const* rows, std::size_t dim,
                                             bool more) noexcept {
  for (std::size_t c = 0; c < dim; ++c) {
    float sum = rows[0][c];
    for (std::size_t r = 1; r < kCount; ++r) sum += rows[r][c];
    out[c] = more ? out[c] + sum : sum;
  }
}

}  // namespace

Combiner combiner_named(const std::string& text) {
  if (text == "sum") return Combiner::sum;
  if (text == "mean") return Combiner::mean;
  if (text == "sqrtn") return Combiner::sqrtn;
  fail_invalid("there is no combiner '" + text + "'; choose sum, mean or sqrtn");
}

float divisor(Combiner combiner, const float* weights, std::size_t count) noexcept {
  if (combiner == Combiner::sum) return 1.0F;
  float total = weights == nullptr ? static_cast<float>(count) : 0.0F;
  if (weights != nullptr) {
    for (std::size_t i = 0; i < count; ++i) {
      total += combiner == Combiner::mean ? weights[i] : weights[i] * weights[i];
    }
  }
  return combiner == Combiner::mean ? total : std::sqrt(total);
}

RECMIGRATE_VECTOR_CLONES
void add_rows(float* out, const float* const* rows, std::size_t count, std::size_t dim, bool more) noexcept {
  switch (count) {
    case 1:
      return add_piece<1>(out, rows, dim, more);
    case 2:
      return add_piece<2>(out, rows, dim, more);
    case 3:
      return add_piece<3>(out, rows, dim, more);
    case 4:
      return add_piece<4>(out, rows, dim, more);
    case 5:
      return add_piece<5>(out, rows, dim, more);
    case 6:
      return add_piece<6>(out, rows, dim, more);
    case 7:
      return add_piece<7>(out, rows, dim, more);
    case 8:
      return add_piece<8>(out, rows, dim, more);
    default:
      return add_piece<9>(out, rows, dim, more);
  }
}

RECMIGRATE_VECTOR_CLONES
void add_weighted(float* __restrict out, const float* __restrict row, float weight, std::size_t dim,
                  bool more) noexcept {
  if (more) {
    for (std::size_t c = 0; c < dim; ++c) out[c] += weight * row[c];
  } else {
    for (std::size_t c = 0; c < dim; ++c) out[c] = weight * row[c];
  }
}

RECMIGRATE_VECTOR_CLONES
void divide(float* out, const float* row, float by, std::size_t dim) noexcept {
  for (std::size_t c = 0; c < dim; ++c) out[c] = by == 0.0F ? 0.0F : row[c] / by;
}

RECMIGRATE_VECTOR_CLONES
void scale(float* out, const float* row, float factor, std::size_t dim) noexcept {
  for (std::size_t c = 0; c < dim; ++c) out[c] = row[c] * factor;
}

// Eight partial sums, added in a fixed order, are bit-equal for any vector width.
RECMIGRATE_VECTOR_CLONES
float dot(const float* a, const float* b, std::size_t dim) noexcept {
  float parts[8] = {};
  std::size_t c = 0;
  for (; c + 8 <= dim; c += 8) {
    for (std::size_t i = 0; i < 8; ++i) parts[i] += a[c + i] * b[c + i];
  }
  for (std::size_t i = 0; c < dim; ++c, ++i) parts[i] += a[c] * b[c];
  return ((parts[0] + parts[4]) + (parts[1] + parts[5])) + ((parts[2] + parts[6]) + (parts[3] + parts[7]));
}

void clip_row(float* out, const float* row, float max_norm, std::size_t dim) noexcept {
  const float norm = std::sqrt(dot(row, row, dim));
  scale(out, row, max_norm, dim);
  divide(out, out, norm > max_norm ? norm : max_norm, dim);
}

void clip_gradient(float* gradient, const float* row, float max_norm, std::size_t dim) noexcept {
  const float square = dot(row, row, dim);
  const float norm = std::sqrt(square);
  if (!(norm > max_norm)) return;
  const float along = -dot(row, gradient, dim) / square;
  add_weighted(gradient, row, along, dim, true);
  scale(gradient, gradient, max_norm / norm, dim);
}

RECMIGRATE_VECTOR_CLONES
void sum_weighted_rows(float* __restrict sums, const std::uint32_t* numbers, const float* __restrict rows,
                       const std::uint32_t* positions, const float* weights, std::size_t count,
                       std::size_t dim) noexcept {
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    float* __restrict sum = sums + numbers[i] * dim;
    const float* __restrict row = rows + positions[i] * dim;
    if (numbers[i] == next) {
      for (std::size_t c = 0; c < dim; ++c) sum[c] = weights[i] * row[c];
      ++next;
    } else {
      for (std::size_t c = 0; c < dim; ++c) sum[c] += weights[i] * row[c];
    }
  }
}

}  // namespace recmigrate
