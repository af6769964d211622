// The messages of keys from all ranks to this one; partition.h defines their format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "store/lookup/occurrences.h"
#include "store/lookup/partial_sums.h"

namespace recmigrate::exchange {

// The request of one rank for one table.
struct AskedPart {
  const std::int64_t* keys;
  std::size_t count;
  std::optional<Times> times;       // how often each key occurs, if not once
  std::optional<PartialSums> sums;  // sums to send back instead of the rows

  [[nodiscard]] std::size_t occurrences() const noexcept { return times ? times->occurrences() : count; }

  [[nodiscard]] std::size_t answers() const noexcept { return sums ? sums->sums() : count; }
};

// Parses the messages of ranks: `lengths` [ranks] values from each. Throws InvalidInput if counts and lengths do not
// match.
class Inbox {
 public:
  Inbox(const std::int64_t* message, std::size_t size, const std::int32_t* lengths, std::size_t ranks,
        std::size_t tables);

  [[nodiscard]] std::size_t ranks() const noexcept { return parts_.size() / tables_; }
  [[nodiscard]] const AskedPart& part(std::size_t rank, std::size_t table) const noexcept {
    return parts_[rank * tables_ + table];
  }
  // Number of keys to look up: all occurrences, if a table counts them.
  [[nodiscard]] std::size_t keys_of(std::size_t table) const noexcept;
  // The keys of a table, ordered by rank; occurrences of a key stand side by side.
  void write_keys(std::size_t table, std::int64_t* keys) const;
  // Number of rows or sums for each rank and table, [ranks, tables].
  [[nodiscard]] std::vector<std::int32_t> answers() const;

 private:
  std::size_t tables_;
  std::vector<AskedPart> parts_;  // [ranks, tables]
};

}  // namespace recmigrate::exchange
