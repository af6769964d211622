// Conversions of rows between float32 and two bytes a value. Integer arithmetic, without branches, so that the compiler
// makes vectors of the loops for any width. Subnormal floats never occur in between: threads may flush them to zero.
#include "store/rows/value_type.h"

#include <cstring>
#include <type_traits>

#include "store/errors.h"
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

// Choices by masks, which stay free of branches.
RECMIGRATE_INLINE std::uint32_t mask_of(bool condition) noexcept { return 0U - std::uint32_t{condition}; }

RECMIGRATE_INLINE std::uint32_t chosen(std::uint32_t mask, std::uint32_t then, std::uint32_t other) noexcept {
  return (then & mask) | (other & ~mask);
}

// Below 2^31, so that the comparison may be one of signed numbers, as SIMD has.
RECMIGRATE_INLINE std::uint32_t below(std::uint32_t a, std::uint32_t b) noexcept {
  return mask_of(static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b));
}

RECMIGRATE_INLINE std::uint32_t least(std::uint32_t a, std::uint32_t b) noexcept { return chosen(below(a, b), a, b); }

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
    const std::uint32_t other = chosen(below(kInfinity, size), 0x7fc0U, 0x7f80U);
    return static_cast<std::uint16_t>(sign | chosen(below(size, kInfinity), least(rounded, 0x7f7fU), other));
  }
};

// IEEE 754 binary16.
struct Float16 {
  RECMIGRATE_INLINE static float widened(std::uint16_t half) noexcept {
    const std::uint32_t size = half & 0x7fffU;
    const std::uint32_t shift = 0x38000000U << (~below(size, 0x7c00U) & 1U);  // of the exponent; infinities keep theirs
    const std::uint32_t normal = (size << 13) + shift;
    const std::uint32_t small = bits_of(static_cast<float>(static_cast<std::int32_t>(size)) * kLeast);
    const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16;
    return float_of(sign | chosen(below(size, 0x0400U), small, normal));
  }

  template <bool kNearest>
  RECMIGRATE_INLINE static std::uint16_t stored(float value, std::uint32_t random) noexcept {
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t size = bits & 0x7fffffffU;
    const std::uint32_t sign = bits >> 16 & 0x8000U;
    const std::uint32_t add = kNearest ? 0x0fffU + (size >> 13 & 1U) : random >> 19;
    const std::uint32_t small = below(size, kLeastNormal);
    const std::uint32_t from = chosen(small, kLeastNormal, least(size, kInfinity - 0x2000U));
    const std::uint32_t normal = (from + add - 0x38000000U) >> 13;
    // Below the least normal one, values are multiples of 2^-24.
    const float multiple = float_of(size & small) * 16777216.0F;
    const float up = kNearest ? 0.0F : static_cast<float>(static_cast<std::int32_t>(random >> 19)) * (1.0F / 8192.0F);
    // Adding 2^23 rounds to the nearest, or of two the even one.
    const std::uint32_t whole = kNearest ? bits_of(multiple + 8388608.0F) & 0x7fffU
                                         : static_cast<std::uint32_t>(static_cast<std::int32_t>(multiple + up));
    const std::uint32_t rounded = chosen(small, whole, normal);
    const std::uint32_t other = chosen(below(kInfinity, size), 0x7e00U, 0x7c00U);
    return static_cast<std::uint16_t>(sign | chosen(below(size, kInfinity), least(rounded, 0x7bffU), other));
  }

 private:
  static constexpr float kLeast = 1.0F / 16777216.0F;
  static constexpr std::uint32_t kLeastNormal = 0x38800000U;
};

// With a width known to the compiler, a row is a few vector registers.
template <std::size_t kDim>
using Fixed = std::integral_constant<std::size_t, kDim>;

template <typename Type, typename Dim>
RECMIGRATE_INLINE void widen(Dim dim, const float* row, float* __restrict out) noexcept {
  const auto* __restrict from = reinterpret_cast<const Half*>(row);
  for (std::size_t c = 0; c < dim; ++c) out[c] = Type::widened(from[c]);
}

template <typename Type, bool kNearest, typename Dim>
RECMIGRATE_INLINE void store(Dim dim, float* row, const float* __restrict values, std::uint32_t random) noexcept {
  auto* __restrict to = reinterpret_cast<Half*>(row);
  for (std::size_t c = 0; c < dim; ++c) {
    const std::uint32_t own = kNearest ? 0U : scrambled(random + static_cast<std::uint32_t>(c) * 0x9e3779b9U);
    to[c] = Type::template stored<kNearest>(values[c], own);
  }
}

struct Spread {
  float* out;
  const std::uint32_t* positions;
  const float* const* rows;
  const std::uint32_t* numbers;
  std::size_t count;

  template <typename Type, typename Dim>
  RECMIGRATE_INLINE void run(Dim dim) const noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (i + kAhead < count) __builtin_prefetch(out + positions[i + kAhead] * dim, 1);
      widen<Type>(dim, rows[numbers[i]], out + positions[i] * dim);
    }
  }
};

struct Widen {
  float* const* rows;
  std::size_t count;
  std::size_t slots;
  float* wide;

  template <typename Type, typename Dim>
  RECMIGRATE_INLINE void run(Dim dim) const noexcept {
    for (std::size_t r = 0; r < count; ++r) {
      float* const to = wide + r * (1 + slots) * dim;
      const float* const from = rows[r] + value_units(ValueType::bfloat16, dim);
      widen<Type>(dim, rows[r], to);
      for (std::size_t s = 0; s < slots; ++s) std::memcpy(to + (1 + s) * dim, from + s * dim, dim * sizeof(float));
    }
  }
};

struct Store {
  float* const* rows;
  std::size_t count;
  std::size_t slots;
  const float* wide;
  const std::uint32_t* random;

  template <typename Type, typename Dim>
  RECMIGRATE_INLINE void run(Dim dim) const noexcept {
    for (std::size_t r = 0; r < count; ++r) {
      const float* const from = wide + r * (1 + slots) * dim;
      float* const to = rows[r] + value_units(ValueType::bfloat16, dim);
      store<Type, false>(dim, rows[r], from, random[r]);
      for (std::size_t s = 0; s < slots; ++s) std::memcpy(to + s * dim, from + (1 + s) * dim, dim * sizeof(float));
    }
  }
};

// Runs the loop for this type and width.
template <typename Type, typename Loop>
RECMIGRATE_INLINE void run_width(const Loop& loop, std::size_t dim) noexcept {
  switch (dim) {
    case 8:
      return loop.template run<Type>(Fixed<8>{});
    case 16:
      return loop.template run<Type>(Fixed<16>{});
    case 32:
      return loop.template run<Type>(Fixed<32>{});
    case 64:
      return loop.template run<Type>(Fixed<64>{});
    default:
      loop.template run<Type>(dim);
  }
}

template <typename Loop>
RECMIGRATE_INLINE void run_type(ValueType type, const Loop& loop, std::size_t dim) noexcept {
  type == ValueType::bfloat16 ? run_width<Bfloat16>(loop, dim) : run_width<Float16>(loop, dim);
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
  if (type == ValueType::bfloat16) return widen<Bfloat16>(dim, row, out);
  widen<Float16>(dim, row, out);
}

RECMIGRATE_VECTOR_CLONES
void spread_widened(ValueType type, float* out, const std::uint32_t* positions, const float* const* rows,
                    const std::uint32_t* numbers, std::size_t count, std::size_t dim) noexcept {
  run_type(type, Spread{out, positions, rows, numbers, count}, dim);
}

RECMIGRATE_VECTOR_CLONES
void widen_rows(ValueType type, float* const* rows, std::size_t count, std::size_t dim, std::size_t slots,
                float* wide) noexcept {
  run_type(type, Widen{rows, count, slots, wide}, dim);
}

RECMIGRATE_VECTOR_CLONES
void store_rows(ValueType type, float* const* rows, std::size_t count, std::size_t dim, std::size_t slots,
                const float* wide, const std::uint32_t* random) noexcept {
  run_type(type, Store{rows, count, slots, wide, random}, dim);
}

RECMIGRATE_VECTOR_CLONES
void store_nearest(ValueType type, float* row, const float* values, std::size_t dim) noexcept {
  if (type == ValueType::bfloat16) return store<Bfloat16, true>(dim, row, values, 0);
  store<Float16, true>(dim, row, values, 0);
}

RECMIGRATE_VECTOR_CLONES
void store_stochastic(ValueType type, float* row, const float* values, std::size_t dim, std::uint32_t random) noexcept {
  if (type == ValueType::bfloat16) return store<Bfloat16, false>(dim, row, values, random);
  store<Float16, false>(dim, row, values, random);
}

}  // namespace recmigrate
