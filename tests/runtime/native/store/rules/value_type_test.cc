// Values of two bytes: all 65536 of each type are read and stored exactly, all else goes to a neighbour.
#include "store/rows/value_type.h"

#include <cmath>
#include <limits>

#include "check.h"

namespace value_types {
namespace {

using recmigrate::ValueType;

constexpr ValueType kTypes[] = {ValueType::bfloat16, ValueType::float16};

float widened(ValueType type, std::uint16_t half) {
  float row[1] = {};
  std::memcpy(row, &half, sizeof half);
  float out = 0;
  recmigrate::widen_values(type, row, &out, 1);
  return out;
}

std::uint16_t half_of(const float* row) {
  std::uint16_t half = 0;
  std::memcpy(&half, row, sizeof half);
  return half;
}

std::uint16_t nearest(ValueType type, float value) {
  float row[1] = {};
  recmigrate::store_nearest(type, row, &value, 1);
  return half_of(row);
}

std::uint16_t stochastic(ValueType type, float value, std::uint32_t random) {
  float row[1] = {};
  recmigrate::store_stochastic(type, row, &value, 1, random);
  return half_of(row);
}

// What the bits mean, by the definition of the types.
double meaning(ValueType type, std::uint16_t half) {
  const int fraction = type == ValueType::bfloat16 ? 7 : 10;
  const int bias = type == ValueType::bfloat16 ? 127 : 15;
  const int exponent = (half & 0x7fff) >> fraction;
  const int rest = half & ((1 << fraction) - 1);
  const double size = exponent == 0 ? std::ldexp(rest, 1 - bias - fraction)
                                    : std::ldexp((1 << fraction) + rest, exponent - bias - fraction);
  return half >> 15 ? -size : size;
}

bool is_finite(ValueType type, std::uint32_t half) {
  return (half & 0x7fffU) < (type == ValueType::bfloat16 ? 0x7f80U : 0x7c00U);
}

TEST(every_value_of_two_bytes_is_read_exactly_and_stays) {
  for (const ValueType type : kTypes) {
    for (std::uint32_t i = 0; i < 65536; ++i) {
      const auto half = static_cast<std::uint16_t>(i);
      const float value = widened(type, half);
      if (is_finite(type, i)) {
        CHECK(double{value} == meaning(type, half));
        CHECK(nearest(type, value) == half && stochastic(type, value, 0xffffffffU) == half);
        CHECK(stochastic(type, value, i * 77777U) == half);
      } else {
        CHECK(!std::isfinite(value) && std::isinf(value) == std::isinf(widened(type, nearest(type, value))));
        CHECK(std::isnan(value) == std::isnan(widened(type, stochastic(type, value, 3))));
      }
    }
  }
}

TEST(values_between_two_are_rounded_to_the_nearest_or_the_even_one) {
  for (const ValueType type : kTypes) {
    const std::uint32_t end = type == ValueType::bfloat16 ? 0x7f7fU : 0x7bffU;
    for (std::uint32_t i = type == ValueType::bfloat16 ? 0x80U : 0U; i < end; ++i) {  // no subnormal floats
      const float low = widened(type, static_cast<std::uint16_t>(i));
      const float high = widened(type, static_cast<std::uint16_t>(i + 1));
      const float middle = low + (high - low) / 2;
      CHECK(nearest(type, middle) == (i % 2 == 0 ? i : i + 1));
      CHECK(nearest(type, std::nextafter(middle, low)) == i);
      CHECK(nearest(type, std::nextafter(middle, high)) == i + 1);
      CHECK(nearest(type, -std::nextafter(middle, high)) == (0x8000U | (i + 1)));
      const std::uint16_t any = stochastic(type, -middle, i * 2654435761U);
      CHECK(any == (0x8000U | i) || any == (0x8000U | (i + 1)));
    }
  }
}

TEST(values_beyond_the_largest_become_the_largest) {
  CHECK(widened(ValueType::float16, nearest(ValueType::float16, 1e30F)) == 65504.0F);
  CHECK(widened(ValueType::float16, stochastic(ValueType::float16, -65519.0F, 0xffffffffU)) == -65504.0F);
  const float largest = std::numeric_limits<float>::max();
  CHECK(widened(ValueType::bfloat16, nearest(ValueType::bfloat16, largest)) < largest);
  CHECK(std::isfinite(widened(ValueType::bfloat16, stochastic(ValueType::bfloat16, largest, 0xffffffffU))));
}

// A quarter above the lower neighbour, it becomes the upper one in a quarter of all cases, in every column.
TEST(stochastic_rounding_is_right_in_the_mean) {
  constexpr std::size_t kColumns = 37;
  for (const ValueType type : kTypes) {
    for (const double start : {1.0, 3.0e-5}) {
      const std::uint16_t half = nearest(type, static_cast<float>(start));
      const float low = widened(type, half);
      const float high = widened(type, static_cast<std::uint16_t>(half + 1));
      const std::vector<float> values(kColumns, low + (high - low) / 4);
      std::vector<float> row(kColumns);
      std::vector<float> out(kColumns);
      std::vector<int> ups(kColumns);
      for (std::uint32_t update = 0; update < 4000; ++update) {
        const std::uint32_t random = recmigrate::Rounding(7, update).of(123);
        recmigrate::store_stochastic(type, row.data(), values.data(), kColumns, random);
        recmigrate::widen_values(type, row.data(), out.data(), kColumns);
        for (std::size_t c = 0; c < kColumns; ++c) ups[c] += out[c] == high;
      }
      for (const int up : ups) CHECK(up > 860 && up < 1140);  // five standard deviations
    }
  }
}

}  // namespace
}  // namespace value_types
