#include "store/lookup/partial_sums.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "store/errors.h"

namespace recmigrate::exchange {
namespace {

constexpr std::size_t kBits = 64;
constexpr std::size_t kBytes = sizeof(std::int64_t);

std::size_t bytes_of_number(std::size_t keys) noexcept { return keys <= 0x100 ? 1 : keys <= 0x10000 ? 2 : 4; }

std::size_t values_of_bits(std::size_t occurrences) noexcept { return (occurrences + kBits - 1) / kBits; }

bool begins_sum(const std::uint64_t* bits, std::size_t i) noexcept {
  return ((bits[i / kBits] >> (i % kBits)) & 1U) != 0;
}

// The number is among values of another type, which only memcpy may access.
template <typename Number>
std::size_t number_at(const unsigned char* numbers, std::size_t i) noexcept {
  Number number;
  std::memcpy(&number, numbers + i * sizeof(Number), sizeof(Number));
  return number;
}

template <typename Number>
void put_number(unsigned char* numbers, std::size_t i, std::size_t value) noexcept {
  const auto number = static_cast<Number>(value);
  std::memcpy(numbers + i * sizeof(Number), &number, sizeof(Number));
}

void add_row(float* to, const float* row, std::size_t width) noexcept {
  for (std::size_t k = 0; k < width; ++k) to[k] += row[k];
}

}  // namespace

std::size_t partial_sums_size(std::size_t keys, std::size_t occurrences) noexcept {
  return 1 + values_of_bits(occurrences) + (occurrences * bytes_of_number(keys) + kBytes - 1) / kBytes;
}

PartialSumsWriter::PartialSumsWriter(std::int64_t* to, std::size_t keys, std::size_t occurrences) noexcept
    : bits_(reinterpret_cast<std::uint64_t*>(to + 1)),
      numbers_(reinterpret_cast<unsigned char*>(to + 1 + values_of_bits(occurrences))),
      width_(bytes_of_number(keys)) {
  std::fill_n(to, partial_sums_size(keys, occurrences), 0);
  *to = static_cast<std::int64_t>(occurrences);
}

void PartialSumsWriter::add(std::size_t key, bool begins) noexcept {
  bits_[at_ / kBits] |= static_cast<std::uint64_t>(begins) << (at_ % kBits);
  if (width_ == 2) put_number<std::uint16_t>(numbers_, at_, key);
  else if (width_ == 1) put_number<std::uint8_t>(numbers_, at_, key);
  else put_number<std::uint32_t>(numbers_, at_, key);
  ++at_;
}

PartialSums::PartialSums(const std::int64_t* from, std::size_t room, std::size_t keys) : keys_(keys) {
  occurrences_ = room == 0 || *from < 0 ? 0 : static_cast<std::size_t>(*from);
  if (occurrences_ == 0 || occurrences_ > room * kBits || size() > room) {
    fail_invalid("sums of " + std::to_string(keys) + " rows do not fit into " + std::to_string(room) +
                 " values of the message");
  }
  bits_ = reinterpret_cast<const std::uint64_t*>(from + 1);
  numbers_ = reinterpret_cast<const unsigned char*>(from + 1 + values_of_bits(occurrences_));
  bool known = begins_sum(bits_, 0);
  each([&](std::size_t key, bool begins) {
    sums_ += static_cast<std::size_t>(begins);
    known = known && key < keys_ && sums_ <= keys_;
  });
  if (!known)
    fail_invalid("sums have row numbers outside the " + std::to_string(keys) +
                 " rows of the message, or there are more sums than rows");
}

template <typename Number, typename Body>
void PartialSums::each_of(const Body& body) const noexcept {
  for (std::size_t i = 0; i < occurrences_; ++i) body(number_at<Number>(numbers_, i), begins_sum(bits_, i));
}

template <typename Body>
void PartialSums::each(const Body& body) const noexcept {
  const std::size_t bytes = bytes_of_number(keys_);
  if (bytes == 2) each_of<std::uint16_t>(body);
  else if (bytes == 1) each_of<std::uint8_t>(body);
  else each_of<std::uint32_t>(body);
}

void PartialSums::sum(const float* rows, std::size_t width, float* sums) const noexcept {
  float* next = sums;
  float* to = sums;
  each([&](std::size_t key, bool begins) {
    if (begins) next = std::copy_n(rows + key * width, width, to = next);
    else add_row(to, rows + key * width, width);
  });
}

void PartialSums::spread(const float* gradients, std::size_t width, float* rows) const noexcept {
  std::fill_n(rows, keys_ * width, 0.0F);
  const float* next = gradients;
  const float* from = gradients;
  each([&](std::size_t key, bool begins) {
    if (begins) from = std::exchange(next, next + width);
    add_row(rows + key * width, from, width);
  });
}

}  // namespace recmigrate::exchange
