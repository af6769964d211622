#include "store/admission/chance.h"

#include "store/hash.h"

namespace recmigrate {
namespace {

constexpr std::uint64_t kSalt = 0x61646d6974746564ULL;  // initial rows are drawn of seed and key, too

// Multiplications alone: they have the same bits on every machine, which `std::pow` has not.
double power(double base, std::uint32_t exponent) noexcept {
  double result = 1.0;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace

bool admitted_by_chance(std::int64_t key, std::int64_t seed, std::uint32_t count, double probability) noexcept {
  if (count == 0) return false;
  const std::uint64_t draw = mix(mix(static_cast<std::uint64_t>(key)) ^ mix(static_cast<std::uint64_t>(seed) ^ kSalt));
  const double uniform = static_cast<double>(draw >> 11) * 0x1p-53;  // in [0, 1)
  return uniform >= power(1.0 - probability, count);
}

}  // namespace recmigrate
