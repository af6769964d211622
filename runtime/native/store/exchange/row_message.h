// The rows, or sums of rows, that ranks send back for a message of keys (partition.h), and their gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/exchange/inbox.h"

namespace recmigrate::exchange {

// Maps rows of a message (numbered per table, in message order) to targets, as pairs.
struct Links {
  const std::int32_t* places;
  const std::int32_t* targets;  // null if pair i maps to i
  std::size_t count;
};

// Positions of the floats of each rank and table in a message of rows. Throws InvalidInput for a negative count.
class RowMessage {
 public:
  RowMessage(const std::int32_t* counts, std::size_t ranks, std::vector<std::size_t> widths);

  [[nodiscard]] std::size_t floats() const noexcept { return floats_; }
  // Writes the answers for a table to the message, given the rows of all occurrences of keys, ordered by rank.
  void pack(const Inbox& asked, std::size_t table, const float* rows, float* message) const;
  // The gradient: of the rows, given that of the message.
  void unpack(const Inbox& asked, std::size_t table, const float* message, float* rows) const;
  // rows[i] = row places[i] of the table. Throws InvalidInput for an invalid place.
  void spread(std::size_t table, const float* message, const Links& links, float* rows) const;
  // sums[targets[i]] += row places[i], in order; other sums [count, width] are zero. Throws like `spread`.
  void pool(std::size_t table, const float* message, const Links& links, std::size_t count, float* sums) const;
  // The gradient of both: row places[i] is the sum of gradients[targets[i]], added in order; a row that does not occur
  // is zero. There are `count` gradients. Throws InvalidInput for an invalid place or target.
  void sum(std::size_t table, const float* gradients, std::size_t count, const Links& links, float* message) const;

 private:
  // The begin of each row of a table.
  [[nodiscard]] std::vector<std::size_t> begins(std::size_t table) const;
  [[nodiscard]] std::size_t part(std::size_t rank, std::size_t table) const noexcept {
    return rank * widths_.size() + table;
  }

  std::size_t ranks_;
  std::vector<std::size_t> widths_;
  std::vector<std::size_t> counts_;
  std::vector<std::size_t> offsets_;  // [ranks, tables], in floats
  std::size_t floats_ = 0;
};

}  // namespace recmigrate::exchange
