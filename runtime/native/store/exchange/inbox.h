// The messages of keys that all ranks have sent to this one; partition.h says what stands in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "store/lookup/partial_sums.h"

namespace recmigrate::exchange {

// What one rank asks for of one table.
struct AskedPart {
  const std::int64_t* keys;
  std::size_t count;
  std::optional<PartialSums> sums;  // that are to be sent back in place of the rows

  [[nodiscard]] std::size_t answers() const noexcept { return sums ? sums->sums() : count; }
};

// Reads what ranks have sent: `lengths` [ranks] values from each. Throws InvalidInput when counts and lengths do not
// fit.
class Inbox {
 public:
  Inbox(const std::int64_t* message, std::size_t size, const std::int32_t* lengths, std::size_t ranks,
        std::size_t tables);

  [[nodiscard]] std::size_t ranks() const noexcept { return parts_.size() / tables_; }
  [[nodiscard]] const AskedPart& part(std::size_t rank, std::size_t table) const noexcept {
    return parts_[rank * tables_ + table];
  }
  [[nodiscard]] std::size_t keys_of(std::size_t table) const noexcept;
  // The keys of a table, rank after rank.
  void write_keys(std::size_t table, std::int64_t* keys) const;
  // How many rows or sums each rank gets of each table, [ranks, tables].
  [[nodiscard]] std::vector<std::int32_t> answers() const;

 private:
  std::size_t tables_;
  std::vector<AskedPart> parts_;  // [ranks, tables]
};

}  // namespace recmigrate::exchange
