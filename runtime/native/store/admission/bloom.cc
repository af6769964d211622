#include "store/admission/bloom.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "store/admission/admission.h"
#include "store/errors.h"
#include "store/hash.h"

namespace recmigrate {

void BloomConfig::check(const std::string& owner) const {
  if (max_elements < 1 || max_elements > (std::int64_t{1} << 40)) {
    fail_invalid("the Bloom filter of " + owner + " is for " + std::to_string(max_elements) +
                 " keys; it must be 1 to 1099511627776");
  }
  if (!(false_positive_rate >= 1e-9 && false_positive_rate <= 0.5)) {
    fail_invalid("the Bloom filter of " + owner + " has a false_positive_probability of " +
                 std::to_string(false_positive_rate) + "; it must be 1e-9 to 0.5");
  }
  if (counter_bits != 8 && counter_bits != 16 && counter_bits != 32) {
    fail_invalid("the Bloom filter of " + owner + " has counters of " + std::to_string(counter_bits) +
                 " bits; they must have 8, 16 or 32");
  }
}

namespace {

// The standard sizes: -n ln p / (ln 2)^2 cells and log2(1 / p) hashes.
unsigned hashes_of(const BloomConfig& config) noexcept {
  return static_cast<unsigned>(std::max(1.0, std::ceil(-std::log2(config.false_positive_rate))));
}

std::size_t cells_of(const BloomConfig& config, std::size_t parts) noexcept {
  const double elements = std::ceil(static_cast<double>(config.max_elements) / static_cast<double>(parts));
  const double cells = std::ceil(-elements * std::log(config.false_positive_rate) / (std::log(2.0) * std::log(2.0)));
  return std::max<std::size_t>(hashes_of(config), static_cast<std::size_t>(cells));
}

}  // namespace

std::vector<std::int64_t> BloomConfig::identity(std::size_t filters) const {
  constexpr std::int64_t kFormat = 2;  // 1: keys had other shards
  std::int64_t rate = 0;
  std::memcpy(&rate, &false_positive_rate, sizeof rate);
  return {kFormat,
          static_cast<std::int64_t>(filters),
          hashes_of(*this),
          static_cast<std::int64_t>(cells_of(*this, filters)),
          counter_bits,
          max_elements,
          rate};
}

CountingBloom::CountingBloom(const BloomConfig& config, std::size_t parts)
    : hashes_(hashes_of(config)),
      width_(static_cast<std::size_t>(config.counter_bits) / 8),
      cells_(cells_of(config, parts)),
      most_(static_cast<std::uint32_t>((std::uint64_t{1} << config.counter_bits) - 1)),
      counters_(cells_ * width_) {}

std::size_t CountingBloom::bytes_of(const BloomConfig& config, std::size_t parts) noexcept {
  return cells_of(config, parts) * (static_cast<std::size_t>(config.counter_bits) / 8);
}

// Two halves of a second hash give all positions (Kirsch and Mitzenmacher); this removes the shard's bits of the first.
std::size_t CountingBloom::place(std::uint64_t hash, unsigned i) const noexcept {
  const std::uint64_t mixed = mix(hash ^ 0x9E3779B97F4A7C15ULL);
  const std::uint64_t step = mix(mixed) | 1U;
  return (mixed + i * step) % cells_;
}

std::uint32_t CountingBloom::read(const std::uint8_t* counters, std::size_t at) const noexcept {
  std::uint32_t count = 0;
  for (std::size_t byte = 0; byte < width_; ++byte) {
    count |= std::uint32_t{counters[at * width_ + byte]} << (8 * byte);
  }
  return count;
}

void CountingBloom::write(std::size_t at, std::uint32_t count) noexcept {
  for (std::size_t byte = 0; byte < width_; ++byte) {
    counters_[at * width_ + byte] = static_cast<std::uint8_t>(count >> (8 * byte));
  }
}

std::uint32_t CountingBloom::count(std::uint64_t hash) const noexcept {
  std::uint32_t least = most_;
  for (unsigned i = 0; i < hashes_; ++i) least = std::min(least, read(place(hash, i)));
  return least;
}

std::uint32_t CountingBloom::add(std::uint64_t hash, std::uint64_t more) noexcept {
  const std::uint32_t now = std::min(most_, add_saturated(count(hash), more));
  for (unsigned i = 0; i < hashes_; ++i) {
    const std::size_t at = place(hash, i);
    write(at, std::max(read(at), now));
  }
  return now;
}

void CountingBloom::set_counters(const std::uint8_t* counters) noexcept {
  std::memcpy(counters_.data(), counters, counters_.size());
}

void CountingBloom::raise_counters(const std::uint8_t* counters) noexcept {
  for (std::size_t at = 0; at < cells_; ++at) write(at, std::max(read(at), read(counters, at)));
}

}  // namespace recmigrate
