// Sums of rows that are made where the rows lie, as they stand in a message of keys: which rows each of them takes.
//
// Behind the keys that one rank asks another for stand the number of their occurrences; of each occurrence a bit, 1
// where it begins a sum; and of each the number of its key among those keys, in 8, 16 or 32 bits as their number needs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace recmigrate::exchange {

// How many values of a message the sums over so many occurrences of `keys` keys take.
[[nodiscard]] std::size_t partial_sums_size(std::size_t keys, std::size_t occurrences) noexcept;

// Writes them, occurrence after occurrence.
class PartialSumsWriter {
 public:
  PartialSumsWriter() noexcept = default;
  // `to` has room for `partial_sums_size` values.
  PartialSumsWriter(std::int64_t* to, std::size_t keys, std::size_t occurrences) noexcept;

  void add(std::size_t key, bool begins) noexcept;

 private:
  std::uint64_t* bits_ = nullptr;
  unsigned char* numbers_ = nullptr;
  std::size_t width_ = 0;  // bytes of a number
  std::size_t at_ = 0;
};

// Reads them.
class PartialSums {
 public:
  // Of `keys` keys; `room` values begin at `from`. Throws InvalidInput when they cannot be sums of these keys.
  PartialSums(const std::int64_t* from, std::size_t room, std::size_t keys);

  [[nodiscard]] std::size_t size() const noexcept { return partial_sums_size(keys_, occurrences_); }
  [[nodiscard]] std::size_t sums() const noexcept { return sums_; }
  // sums [sums, width] of rows [keys, width]: each in the order of its occurrences.
  void sum(const float* rows, std::size_t width, float* sums) const noexcept;
  // The gradient: each row gets the sum of the gradients of the sums that take it, as often as they do.
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
