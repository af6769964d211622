// Philox4x32-10 (Salmon et al., SC 2011): four random words as a pure function of a counter and a key.
#pragma once

#include <array>
#include <cstdint>

namespace recmigrate {

using Words = std::array<std::uint32_t, 4>;

[[nodiscard]] inline Words philox(Words counter, std::uint32_t key0, std::uint32_t key1) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t right = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<std::uint32_t>(right >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(right),
               static_cast<std::uint32_t>(left >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(left)};
    key0 += 0x9E3779B9U;
    key1 += 0xBB67AE85U;
  }
  return counter;
}

}  // namespace recmigrate
