// A counting Bloom filter: counts keys in memory that does not depend on their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace recmigrate {

struct BloomConfig {
  std::int64_t max_elements = 0;      // number of distinct keys it is sized for; 0 means no filter
  double false_positive_rate = 0.01;  // share of such keys that may be overcounted
  std::int64_t counter_bits = 32;     // 8, 16 or 32

  [[nodiscard]] bool operator==(const BloomConfig& other) const noexcept {
    return max_elements == other.max_elements && false_positive_rate == other.false_positive_rate &&
           counter_bits == other.counter_bits;
  }
  // Throws InvalidInput that names `owner` and the entry.
  void check(const std::string& owner) const;
  // Identifies filters with these settings, so that counters of others are not mistaken for theirs: format, filters,
  // hashes, counters of each, bits of a counter, elements and the bits of the rate.
  [[nodiscard]] std::vector<std::int64_t> identity(std::size_t filters) const;
};

// Never undercounts a key, until a counter saturates. The same calls give the same counts on any machine. Not
// thread-safe.
class CountingBloom {
 public:
  // Takes the `parts`-th part of the elements: one of as many filters that share a table. The config was checked.
  // Throws std::bad_alloc.
  CountingBloom(const BloomConfig& config, std::size_t parts);

  [[nodiscard]] std::size_t bytes() const noexcept { return counters_.size(); }
  // Bytes of a filter with these settings.
  [[nodiscard]] static std::size_t bytes_of(const BloomConfig& config, std::size_t parts) noexcept;
  [[nodiscard]] std::uint32_t most() const noexcept { return most_; }

  // The count of the key, or more. `hash` is hash_key(key), here and below.
  [[nodiscard]] std::uint32_t count(std::uint64_t hash) const noexcept;

  // Counts the key `more` times and returns the new count. Only those of the key's counters are raised that are too low
  // for it, to affect other keys as little as possible.
  std::uint32_t add(std::uint64_t hash, std::uint64_t more) noexcept;

  // Exports the counters for a checkpoint, and imports them: `bytes()` of them.
  [[nodiscard]] const std::vector<std::uint8_t>& counters() const noexcept { return counters_; }
  void set_counters(const std::uint8_t* counters) noexcept;
  // Raises each counter to that of a filter with equal settings, so that no key is counted lower than in either.
  void raise_counters(const std::uint8_t* counters) noexcept;

 private:
  [[nodiscard]] std::size_t place(std::uint64_t hash, unsigned i) const noexcept;
  [[nodiscard]] std::uint32_t read(std::size_t at) const noexcept { return read(counters_.data(), at); }
  [[nodiscard]] std::uint32_t read(const std::uint8_t* counters, std::size_t at) const noexcept;
  void write(std::size_t at, std::uint32_t count) noexcept;

  unsigned hashes_;
  std::size_t width_;  // of a counter in bytes
  std::size_t cells_;
  std::uint32_t most_;
  std::vector<std::uint8_t> counters_;
};

}  // namespace recmigrate
