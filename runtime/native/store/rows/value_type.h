// How the values of a row are stored: as float32, or rounded to two bytes each. Slots and arithmetic are float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

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

// Stores values rounded to the nearest, or of two the even one. A finite value beyond the largest becomes the largest.
void store_nearest(ValueType type, float* row, const float* values, std::size_t dim) noexcept;

// Stores values rounded up or down: to each neighbour with the probability that makes the mean of all roundings exact.
// A value that the type has stays. Which one it becomes follows from `random` and the column, so that equal calls give
// equal bits. Small updates thus move a row in the mean; rounded to the nearest, each of them would be lost.
void store_stochastic(ValueType type, float* row, const float* values, std::size_t dim, std::uint32_t random) noexcept;

// The random number for one row's update: a pure function of the table's seed, the number of the update, and the key.
[[nodiscard]] std::uint32_t rounding_of(std::int64_t seed, std::uint64_t update, std::int64_t key) noexcept;

}  // namespace recmigrate
