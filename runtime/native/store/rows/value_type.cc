// Conversions of rows between float32 and two bytes a value. Integer arithmetic, without branches, so that the compiler
// makes vectors of the loops for any width. Subnormal floats never occur in between: threads may flush them to zero.
#include "store/rows/value_type.h"

#include <cstring>

#include "store/errors.h"
#include "store/hash.h"
#include "store/simd.h"

namespace recmigrate {
namespace {

// Rows are units of float; two values share one.
using Half [[gnu::may_alias]] = std::uint16_t;

constexpr std::size_t kAhead = 16;  // positions jump, so the hardware cannot predict the next row

RECMIGRATE_INLINE std::uint32_t bits_of(float value) noexcept {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

RECMIGRATE_INLINE float float_of(std::uint32_t bits) noexcept {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// A hash of 32 bits (lowbias32 of the hash prospector), which SIMD has the operations for.
RECMIGRATE_INLINE std::uint32_t scrambled(std::uint32_t word) noexcept {
  word = (word ^ (word >> 16)) * 0x7feb352dU;
  word = (word ^ (word >> 15)) * 0x846ca68bU;
  return word ^ (word >> 16);
}

constexpr std::uint32_t kInfinity = 0x7f800000U;

// The upper half of a float.
struct Bfloat16 {
  RECMIGRATE_INLINE static float widened(std::uint16_t half) noexcept { return float_of(std::uint32_t{half} << 16); }

  // `random` is of 32 bits; the nearest ignores it.
  template <bool kNearest>
  RECMIGRATE_INLINE static std::uint16_t stored(float value, std::uint32_t random) noexcept {
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t size = bits & 0x7fffffffU;
    const std::uint32_t sign = bits >> 16 & 0x8000U;
    const std::uint32_t add = kNearest ? 0x7fffU + (bits >> 16 & 1U) : random >> 16;
    const std::uint32_t rounded = (size + add) >> 16;
    const std::uint32_t finite = rounded < 0x7f7fU ? rounded : 0x7f7fU;
    const std::uint32_t other = size > kInfinity ? 0x7fc0U : 0x7f80U;
    return static_cast<std::uint16_t>(sign | (size < kInfinity ? finite : other));
  }
};

// IEEE 754 binary16.
struct Float16 {
  RECMIGRATE_INLINE static float widened(std::uint16_t half) noexcept {
    const std::uint32_t size = half & 0x7fffU;
    const std::uint32_t shift = size >= 0x7c00U ? 0x70000000U : 0x38000000U;  // of the exponent; infinities keep theirs
    const std::uint32_t normal = (size << 13) + shift;
    const std::uint32_t small = bits_of(static_cast<float>(static_cast<std::int32_t>(size)) * kLeast);
    const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16;
    return float_of(sign | (size < 0x0400U ? small : normal));
  }

  template <bool kNearest>
  RECMIGRATE_INLINE static std::uint16_t stored(float value, std::uint32_t random) noexcept {
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t size = bits & 0x7fffffffU;
    const std::uint32_t sign = bits >> 16 & 0x8000U;
    const std::uint32_t add = kNearest ? 0x0fffU + (size >> 13 & 1U) : random >> 19;
    const bool is_small = size < kLeastNormal;
    const std::uint32_t from = is_small ? kLeastNormal : size < kInfinity ? size : kInfinity - 0x2000U;
    const std::uint32_t normal = (from + add - 0x38000000U) >> 13;
    // Below the least normal one, values are multiples of 2^-24.
    const float multiple = float_of(is_small ? size : 0U) * 16777216.0F;
    const float up = kNearest ? 0.0F : static_cast<float>(static_cast<std::int32_t>(random >> 19)) * (1.0F / 8192.0F);
    // Adding 2^23 rounds to the nearest, or of two the even one.
    const std::uint32_t whole = kNearest ? bits_of(multiple + 8388608.0F) & 0x7fffU
                                         : static_cast<std::uint32_t>(static_cast<std::int32_t>(multiple + up));
    const std::uint32_t rounded = is_small ? whole : normal;
    const std::uint32_t finite = rounded < 0x7bffU ? rounded : 0x7bffU;
    const std::uint32_t other = size > kInfinity ? 0x7e00U : 0x7c00U;
    return static_cast<std::uint16_t>(sign | (size < kInfinity ? finite : other));
  }

 private:
  static constexpr float kLeast = 1.0F / 16777216.0F;
  static constexpr std::uint32_t kLeastNormal = 0x38800000U;
};

template <typename Type>
RECMIGRATE_INLINE void widen(const float* row, float* __restrict out, std::size_t dim) noexcept {
  const auto* __restrict from = reinterpret_cast<const Half*>(row);
  for (std::size_t c = 0; c < dim; ++c) out[c] = Type::widened(from[c]);
}

template <typename Type>
RECMIGRATE_INLINE void spread(float* out, const std::uint32_t* positions, const float* const* rows,
                              const std::uint32_t* numbers, std::size_t count, std::size_t dim) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) __builtin_prefetch(out + positions[i + kAhead] * dim, 1);
    widen<Type>(rows[numbers[i]], out + positions[i] * dim, dim);
  }
}

template <typename Type, bool kNearest>
RECMIGRATE_INLINE void store(float* row, const float* __restrict values, std::size_t dim,
                             std::uint32_t random) noexcept {
  auto* __restrict to = reinterpret_cast<Half*>(row);
  for (std::size_t c = 0; c < dim; ++c) {
    const std::uint32_t own = kNearest ? 0U : scrambled(random + static_cast<std::uint32_t>(c) * 0x9e3779b9U);
    to[c] = Type::template stored<kNearest>(values[c], own);
  }
}

}  // namespace

ValueType value_type_named(const std::string& text, const std::string& owner) {
  if (text == "float32") return ValueType::float32;
  if (text == "bfloat16") return ValueType::bfloat16;
  if (text == "float16") return ValueType::float16;
  fail_invalid(owner + " has values=" + text + "; it must be float32, bfloat16 or float16");
}

RECMIGRATE_VECTOR_CLONES
void widen_values(ValueType type, const float* row, float* out, std::size_t dim) noexcept {
  if (type == ValueType::bfloat16) return widen<Bfloat16>(row, out, dim);
  widen<Float16>(row, out, dim);
}

RECMIGRATE_VECTOR_CLONES
void spread_widened(ValueType type, float* out, const std::uint32_t* positions, const float* const* rows,
                    const std::uint32_t* numbers, std::size_t count, std::size_t dim) noexcept {
  if (type == ValueType::bfloat16) return spread<Bfloat16>(out, positions, rows, numbers, count, dim);
  spread<Float16>(out, positions, rows, numbers, count, dim);
}

RECMIGRATE_VECTOR_CLONES
void store_nearest(ValueType type, float* row, const float* values, std::size_t dim) noexcept {
  if (type == ValueType::bfloat16) return store<Bfloat16, true>(row, values, dim, 0);
  store<Float16, true>(row, values, dim, 0);
}

RECMIGRATE_VECTOR_CLONES
void store_stochastic(ValueType type, float* row, const float* values, std::size_t dim, std::uint32_t random) noexcept {
  if (type == ValueType::bfloat16) return store<Bfloat16, false>(row, values, dim, random);
  store<Float16, false>(row, values, dim, random);
}

std::uint32_t rounding_of(std::int64_t seed, std::uint64_t update, std::int64_t key) noexcept {
  const std::uint64_t of_update = mix(static_cast<std::uint64_t>(seed) + 0x9e3779b97f4a7c15ULL * (update + 1));
  return static_cast<std::uint32_t>(mix(of_update ^ static_cast<std::uint64_t>(key)) >> 32);
}

}  // namespace recmigrate
