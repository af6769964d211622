// Addresses of rows, for optimizers that update by address: where a row is, and which key's row was there.
#pragma once

#include <cstdint>

#include "store/lookup/batch.h"
#include "store/rows/index.h"

namespace recmigrate {

// From bit 0: slot, shard, filling, generation (the rest but the sign). A place gets another generation whenever a row
// is put there or removed (odd while it has one), so the address of a removed row is detected. Each filling of a table,
// which begins when it is created, reset or restored, has a number of its own in the process, so an address from
// before, or of another table, is detected as well.
inline constexpr unsigned kSlotBits = 28;
inline constexpr unsigned kFillingBits = 12;
inline constexpr unsigned kFillingAt = kSlotBits + kShardBits;
inline constexpr unsigned kGenerationAt = kFillingAt + kFillingBits;

inline constexpr std::size_t kAddressedSlots = std::size_t{1} << kSlotBits;
inline constexpr std::uint32_t kFillings = 1U << kFillingBits;
inline constexpr std::uint32_t kGenerations = 1U << (63 - kGenerationAt);

[[nodiscard]] constexpr std::int64_t make_address(std::size_t shard, Slot slot, std::uint32_t filling,
                                                  std::uint32_t generation) noexcept {
  return static_cast<std::int64_t>(std::uint64_t{generation} << kGenerationAt | std::uint64_t{filling} << kFillingAt |
                                   std::uint64_t{shard} << kSlotBits | slot);
}

[[nodiscard]] constexpr std::size_t address_shard(std::int64_t address) noexcept {
  return static_cast<std::uint64_t>(address) >> kSlotBits & (kShards - 1);
}
[[nodiscard]] constexpr Slot address_slot(std::int64_t address) noexcept {
  return static_cast<Slot>(address) & (kAddressedSlots - 1);
}
[[nodiscard]] constexpr std::uint32_t address_filling(std::int64_t address) noexcept {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(address) >> kFillingAt) & (kFillings - 1);
}
// A negative address has a generation that no row has.
[[nodiscard]] constexpr std::uint32_t address_generation(std::int64_t address) noexcept {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(address) >> kGenerationAt);
}

}  // namespace recmigrate
