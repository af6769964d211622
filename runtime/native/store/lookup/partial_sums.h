// Sums of rows that the rank with the rows computes, as encoded in a message of keys: which rows each sum consists of.
//
// The keys that one rank asks another for are followed by: the number of their occurrences; a bit per occurrence, 1 if
// it begins a sum; and for each occurrence the number of its key among these keys, in 8, 16 or 32 bits as needed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace recmigrate::exchange {

// Number of message values for sums over so many occurrences of `keys` keys.
[[nodiscard]] std::size_t partial_sums_size(std::size_t keys, std::size_t occurrences) noexcept;

// Writes them, one occurrence after the other.
class PartialSumsWriter {
 public:
  PartialSumsWriter() noexcept = default;
  // `to` has space for `partial_sums_size` values.
  PartialSumsWriter(std::int64_t* to, std::size_t keys, std::size_t occurrences) noexcept;

  void add(std::size_t key, bool begins) noexcept;

 private:
  std::uint64_t* bits_ = nullptr;
  unsigned char* numbers_ = nullptr;
  std::size_t width_ = 0;  // bytes of a key number
  std::size_t at_ = 0;
};

// Reads them.
class PartialSums {
 public:
  // Of `keys` keys; `room` values begin at `from`. Throws InvalidInput if they are not valid sums of these keys.
  PartialSums(const std::int64_t* from, std::size_t room, std::size_t keys);

  [[nodiscard]] std::size_t size() const noexcept { return partial_sums_size(keys_, occurrences_); }
  [[nodiscard]] std::size_t sums() const noexcept { return sums_; }
  // sums [sums, width] of rows [keys, width], each in the order of its occurrences.
  void sum(const float* rows, std::size_t width, float* sums) const noexcept;
  // The gradient: each row gets the sum of the gradients of the sums that contain it, once per occurrence.
  void spread(const float* gradients, std::size_t width, float* rows) const noexcept;

 private:
  template <typename Body>
  void each(const Body& body) const noexcept;
  template <typename Number, typename Body>
  void each_of(const Body& body) const noexcept;

  const std::uint64_t* bits_;
  const unsigned char* numbers_;
  std::size_t keys_;
  std::size_t occurrences_;
  std::size_t sums_ = 0;
};

}  // namespace recmigrate::exchange
