// How the values of a row are stored: as float32, or rounded to two bytes each. Slots and arithmetic are float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "store/hash.h"

namespace recmigrate {

// The numbers are stored in checkpoints.
enum class ValueType : std::uint8_t { float32 = 0, bfloat16 = 1, float16 = 2 };

// Throws InvalidInput that begins with `owner` unless the text is float32, bfloat16 or float16.
[[nodiscard]] ValueType value_type_named(const std::string& text, const std::string& owner);

// Units of four bytes that `dim` values take; half a unit may be left over.
[[nodiscard]] constexpr std::size_t value_units(ValueType type, std::size_t dim) noexcept {
  return type == ValueType::float32 ? dim : (dim + 1) / 2;
}

// Values of two bytes as float32, exactly. For these functions `type` is bfloat16 or float16.
void widen_values(ValueType type, const float* row, float* out, std::size_t dim) noexcept;

// The same with out[positions[i]] = rows[numbers[i]] for i = 0 … count - 1; rows of `out` are `dim` wide.
void spread_widened(ValueType type, float* out, const std::uint32_t* positions, const float* const* rows,
                    const std::uint32_t* numbers, std::size_t count, std::size_t dim) noexcept;

// Rows whose values lie in `dim` values of two bytes, then `slots` slots of `dim` floats: copies them as float32, value
// and slots side by side, to wide[count, (1 + slots) * dim].
void widen_rows(ValueType type, float* const* rows, std::size_t count, std::size_t dim, std::size_t slots,
                float* wide) noexcept;

// The way back; values are rounded as `store_stochastic` does, with a random number for each row.
void store_rows(ValueType type, float* const* rows, std::size_t count, std::size_t dim, std::size_t slots,
                const float* wide, const std::uint32_t* random) noexcept;

// Stores values rounded to the nearest, or of two the even one. A finite value beyond the largest becomes the largest.
void store_nearest(ValueType type, float* row, const float* values, std::size_t dim) noexcept;

// Stores values rounded up or down: to each neighbour with the probability that makes the mean of all roundings exact.
// A value that the type has stays. Which one it becomes follows from `random` and the column, so that equal calls give
// equal bits. Small updates thus move a row in the mean; rounded to the nearest, each of them would be lost.
void store_stochastic(ValueType type, float* row, const float* values, std::size_t dim, std::uint32_t random) noexcept;

// The random numbers of one update, which round its rows: pure functions of the table's seed, the number of the update,
// and the key.
class Rounding {
 public:
  Rounding(std::int64_t seed, std::uint64_t update) noexcept
      : of_update_(mix(static_cast<std::uint64_t>(seed) + 0x9e3779b97f4a7c15ULL * (update + 1))) {}

  [[nodiscard]] std::uint32_t of(std::int64_t key) const noexcept {
    return static_cast<std::uint32_t>(mix(of_update_ ^ static_cast<std::uint64_t>(key)) >> 32);
  }

 private:
  std::uint64_t of_update_;
};

}  // namespace recmigrate
