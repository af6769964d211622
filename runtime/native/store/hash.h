// The engine's only hash function. Ids are often consecutive or share low bits, so every output bit depends on every
// input bit.
#pragma once

#include <cstdint>

namespace recmigrate {

// A bijection on 64-bit words (the splitmix64 finaliser): two keys never share all 64 bits.
[[nodiscard]] inline std::uint64_t mix(std::uint64_t word) noexcept {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
  return word ^ (word >> 31);
}

[[nodiscard]] inline std::uint64_t hash_key(std::int64_t key) noexcept { return mix(static_cast<std::uint64_t>(key)); }

}  // namespace recmigrate
