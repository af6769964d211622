// Pooling of rows: sums, their divisors, and the gradients of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace recmigrate {

enum class Combiner { sum, mean, sqrtn };

// Throws InvalidInput unless the text is sum, mean or sqrtn.
[[nodiscard]] Combiner combiner_named(const std::string& text);

// The divisor of the sum of `count` rows: 1; their number or total weight; the root of their number or of the sum of
// their squared weights. `weights` may be null.
[[nodiscard]] float divisor(Combiner combiner, const float* weights, std::size_t count) noexcept;

// The rows of a bag are added in pieces of at most kPiece: TensorFlow's sparse segment sums take the odd ones first,
// then eight at a time, and only the same order gives bit-equal results.
inline constexpr std::size_t kPiece = 9;
[[nodiscard]] inline std::size_t first_piece(std::size_t count) noexcept {
  return count <= 1 ? count : count % 8 < 2 ? 8 + count % 8 : count % 8;
}

// out = the sum of `count` (1 to kPiece) rows, or with `more`, out += that sum.
void add_rows(float* out, const float* const* rows, std::size_t count, std::size_t dim, bool more) noexcept;

// out += weight * row; without `more`, out = weight * row.
void add_weighted(float* out, const float* row, float weight, std::size_t dim, bool more) noexcept;

// row / by, or zeros if `by` is 0; `out` may be `row`.
void divide(float* out, const float* row, float by, std::size_t dim) noexcept;

// out = row * factor; `out` may be `row`.
void scale(float* out, const float* row, float factor, std::size_t dim) noexcept;

[[nodiscard]] float dot(const float* a, const float* b, std::size_t dim) noexcept;

// out = row scaled to a norm of at most `max_norm`.
void clip_row(float* out, const float* row, float max_norm, std::size_t dim) noexcept;

// Converts the gradient of the clipped row to that of `row`.
void clip_gradient(float* gradient, const float* row, float max_norm, std::size_t dim) noexcept;

// sums[numbers[i]] += weights[i] * rows[positions[i]], in this order; as `sum_rows` otherwise.
void sum_weighted_rows(float* sums, const std::uint32_t* numbers, const float* rows, const std::uint32_t* positions,
                       const float* weights, std::size_t count, std::size_t dim) noexcept;

}  // namespace recmigrate
