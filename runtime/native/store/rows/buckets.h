// How keys divide into the buckets of a base: the words of a vocabulary have rows of their own there, all other keys
// share `count` rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace recmigrate {

struct Buckets {
  std::int64_t count = 0;   // 0: there is no base
  std::int64_t first = 0;   // row of the first bucket
  std::int64_t beyond = 0;  // keys from 0 to below it are rows themselves

  Buckets() = default;
  Buckets(std::int64_t all) : count(all) {}  // NOLINT(google-explicit-constructor): a number alone, of key mod `all`
  Buckets(std::int64_t number, std::int64_t first_row, std::int64_t next_row)
      : count(number), first(first_row), beyond(next_row) {}

  // Number of rows of the base.
  [[nodiscard]] std::int64_t rows() const noexcept { return std::max(beyond, first + count); }
  // The row of a key; `count` is not 0.
  [[nodiscard]] std::int64_t of(std::int64_t key) const noexcept {
    if (key >= 0 && key < beyond) return key;
    const std::int64_t rest = (key % count - beyond % count) % count;
    return first + (rest < 0 ? rest + count : rest);
  }
  // As the argument of `create_table` is written.
  [[nodiscard]] std::string text() const {
    if (first == 0 && beyond == 0) return "base_buckets=" + std::to_string(count);
    return "base_buckets=Buckets(" + std::to_string(count) + ", " + std::to_string(first) + ", " +
           std::to_string(beyond) + ")";
  }
  [[nodiscard]] bool operator==(const Buckets& other) const noexcept {
    return count == other.count && first == other.first && beyond == other.beyond;
  }
  [[nodiscard]] bool operator!=(const Buckets& other) const noexcept { return !(*this == other); }
};

}  // namespace recmigrate
