// The engine's only hash function, and which shard has a key.
#pragma once

#include <cstddef>
#include <cstdint>

namespace recmigrate {

// A bijection on 64-bit words (the splitmix64 finaliser): two keys never share all 64 bits.
[[nodiscard]] inline std::uint64_t mix(std::uint64_t word) noexcept {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
  return word ^ (word >> 31);
}

// There are many shards, so that threads rarely wait for each other and no shard gets long. (ThreadSanitizer tracks 64
// locks per thread, and a lookup holds one more than there are shards.)
#if defined(__SANITIZE_THREAD__)
inline constexpr unsigned kShardBits = 5;
#else
inline constexpr unsigned kShardBits = 6;
#endif
inline constexpr std::size_t kShards = std::size_t{1} << kShardBits;

// Of kShards consecutive keys each shard has one; which, depends on the number of these keys, so that keys with a
// common divisor spread, too.
[[nodiscard]] inline std::uint64_t turn_of(std::uint64_t number) noexcept {
  return (number * 0x9e3779b97f4a7c15ULL) >> (64 - kShardBits);
}

// A key's shard is in the highest bits. Ids are often consecutive or share low bits, so every other bit depends on
// every bit of the key.
[[nodiscard]] inline std::uint64_t hash_key(std::int64_t key) noexcept {
  const auto word = static_cast<std::uint64_t>(key);
  return mix(word) >> kShardBits | (word ^ turn_of(word >> kShardBits)) << (64 - kShardBits);
}

[[nodiscard]] inline std::size_t shard_of(std::uint64_t hash) noexcept { return hash >> (64 - kShardBits); }

// The shard of a key without its hash, and the key of a shard with the number key / kShards.
[[nodiscard]] inline std::size_t shard_of_key(std::int64_t key) noexcept {
  const auto word = static_cast<std::uint64_t>(key);
  return (word ^ turn_of(word >> kShardBits)) & (kShards - 1);
}
[[nodiscard]] inline std::int64_t key_in_shard(std::size_t shard, std::uint64_t number) noexcept {
  return static_cast<std::int64_t>(number << kShardBits | ((shard ^ turn_of(number)) & (kShards - 1)));
}

}  // namespace recmigrate
