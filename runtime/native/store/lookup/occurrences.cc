#include "store/lookup/occurrences.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "store/errors.h"

namespace recmigrate::exchange {
namespace {

constexpr std::size_t kMostOccurrences = 0x7ffffffeU;
// The bytes of a number of times stand above the number of keys, which is below 2^31.
constexpr unsigned kBytesAt = 40;

}  // namespace

std::size_t bytes_of_times(const std::uint32_t* times, std::size_t keys) noexcept {
  const std::uint32_t most = keys == 0 ? 1 : *std::max_element(times, times + keys);
  return most == 1 ? 0 : most <= 0xff ? 1 : most <= 0xffff ? 2 : 4;
}

std::size_t times_size(std::size_t keys, std::size_t bytes) noexcept {
  return (keys * bytes + sizeof(std::int64_t) - 1) / sizeof(std::int64_t);
}

std::int64_t with_bytes(std::size_t keys, std::size_t bytes) noexcept {
  return static_cast<std::int64_t>(keys | bytes << kBytesAt);
}

std::size_t keys_of_count(std::int64_t number) noexcept {
  return static_cast<std::size_t>(number) & ((std::size_t{1} << kBytesAt) - 1);
}

std::size_t bytes_of_count(std::int64_t number) noexcept { return static_cast<std::size_t>(number) >> kBytesAt; }

// The low bytes of a number come first (the machines of this library are little-endian, as its checkpoints).
void write_times(const std::uint32_t* times, std::size_t keys, std::size_t bytes, std::int64_t* to) noexcept {
  std::fill_n(to, times_size(keys, bytes), 0);
  auto* next = reinterpret_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < keys; ++i, next += bytes) std::memcpy(next, times + i, bytes);
}

Times::Times(const std::int64_t* from, std::size_t room, std::size_t keys, std::size_t bytes)
    : numbers_(reinterpret_cast<const unsigned char*>(from)), keys_(keys), bytes_(bytes) {
  if (bytes != 1 && bytes != 2 && bytes != 4) {
    fail_invalid("a message of keys has numbers of " + std::to_string(bytes) +
                 " bytes: all ranks must have the same version");
  }
  if (times_size(keys, bytes) > room) {
    fail_invalid("a message of " + std::to_string(keys) + " keys ends before it says how often they occur");
  }
  for (std::size_t i = 0; i < keys; ++i) {
    if (of(i) == 0) fail_invalid("a message has a key that occurs 0 times");
    occurrences_ += of(i);
  }
  if (occurrences_ > kMostOccurrences) {
    fail_limit("a rank can ask for at most 2147483646 ids of a table, not " + std::to_string(occurrences_));
  }
}

std::size_t Times::of(std::size_t key) const noexcept {
  std::uint32_t number = 0;
  std::memcpy(&number, numbers_ + key * bytes_, bytes_);
  return number;
}

}  // namespace recmigrate::exchange
