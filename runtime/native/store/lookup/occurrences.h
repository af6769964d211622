// How often each key of a message occurs, where the table counts: of those that one rank asks another for.
//
// The keys are followed by a number of each, in as many bytes as the largest needs: 1, 2 or 4. The number of keys says
// that they are there, and how wide. Who receives them looks each key up as often as it occurs, one occurrence behind
// the other; all get the row of the first, which gets the whole gradient.
#pragma once

#include <cstddef>
#include <cstdint>

namespace recmigrate::exchange {

// The bytes of each number; 0 if each key occurs once, and nothing is sent.
[[nodiscard]] std::size_t bytes_of_times(const std::uint32_t* times, std::size_t keys) noexcept;

// Number of message values for these bytes of each key.
[[nodiscard]] std::size_t times_size(std::size_t keys, std::size_t bytes) noexcept;

// The number of keys in a message, with the bytes of their numbers of times, and both of it.
[[nodiscard]] std::int64_t with_bytes(std::size_t keys, std::size_t bytes) noexcept;
[[nodiscard]] std::size_t keys_of_count(std::int64_t number) noexcept;
[[nodiscard]] std::size_t bytes_of_count(std::int64_t number) noexcept;

// Writes `times_size` values.
void write_times(const std::uint32_t* times, std::size_t keys, std::size_t bytes, std::int64_t* to) noexcept;

// Reads them.
class Times {
 public:
  Times() noexcept = default;
  // Of `keys` keys; `room` values begin at `from`. Throws InvalidInput if there are too few, if a key occurs 0 times,
  // or for other bytes than 1, 2 and 4; LimitReached for 2^31 - 1 occurrences or more.
  Times(const std::int64_t* from, std::size_t room, std::size_t keys, std::size_t bytes);

  [[nodiscard]] std::size_t size() const noexcept { return times_size(keys_, bytes_); }
  [[nodiscard]] std::size_t occurrences() const noexcept { return occurrences_; }
  [[nodiscard]] std::size_t of(std::size_t key) const noexcept;

 private:
  const unsigned char* numbers_ = nullptr;
  std::size_t keys_ = 0;
  std::size_t bytes_ = 0;
  std::size_t occurrences_ = 0;
};

}  // namespace recmigrate::exchange
