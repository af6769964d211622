// A counting Bloom filter: how often keys were seen, in memory that does not depend on how many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace recmigrate {

struct BloomConfig {
  std::int64_t max_elements = 0;      // distinct keys that it is made for; 0 is no filter
  double false_positive_rate = 0.01;  // how many of as many keys may be counted too high
  std::int64_t counter_bits = 32;     // 8, 16 or 32

  [[nodiscard]] bool operator==(const BloomConfig& other) const noexcept {
    return max_elements == other.max_elements && false_positive_rate == other.false_positive_rate &&
           counter_bits == other.counter_bits;
  }
  // Throws InvalidInput that names `owner` and the entry.
  void check(const std::string& owner) const;
  // What tells as many filters made with these from others, so that counters of theirs are not mistaken: format,
  // filters, hashes, counters of each, bits of a counter, elements and the bits of the rate.
  [[nodiscard]] std::vector<std::int64_t> identity(std::size_t filters) const;
};

// Never counts a key too low until a counter is full, where it stays. The same calls give the same counts on any
// machine. Not thread-safe.
class CountingBloom {
 public:
  // Takes `parts`-th of the elements: one filter of as many that share a table. The config was checked.
  // Throws std::bad_alloc.
  CountingBloom(const BloomConfig& config, std::size_t parts);

  [[nodiscard]] std::size_t bytes() const noexcept { return counters_.size(); }
  // Of a filter that is made with these.
  [[nodiscard]] static std::size_t bytes_of(const BloomConfig& config, std::size_t parts) noexcept;
  [[nodiscard]] std::uint32_t most() const noexcept { return most_; }

  // How often the key was seen, or more. `hash` is hash_key(key), here and below.
  [[nodiscard]] std::uint32_t count(std::uint64_t hash) const noexcept;

  // Counts the key `more` times and returns the new count. Of the key's counters only those move that are too low for
  // it: so others that share one with it are disturbed least.
  std::uint32_t add(std::uint64_t hash, std::uint64_t more) noexcept;

  // The counters as they go into a checkpoint, and back: `bytes()` of them.
  [[nodiscard]] const std::vector<std::uint8_t>& counters() const noexcept { return counters_; }
  void set_counters(const std::uint8_t* counters) noexcept;
  // Raises each counter to that of a filter that is made alike, so that it counts no key lower than either did.
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
