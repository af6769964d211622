// The rows, or sums of rows, that ranks send back for the keys of a message (partition.h), and their gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "store/exchange/inbox.h"

namespace recmigrate::exchange {

// Which row of a message (counting those of one table, in its order) goes where. Pairs one after another.
struct Links {
  const std::int32_t* places;
  const std::int32_t* targets;  // null where pair i goes to row i
  std::size_t count;
};

// Where in a message of rows the floats of each rank and table lie. Throws InvalidInput for a negative count.
class RowMessage {
 public:
  RowMessage(const std::int32_t* counts, std::size_t ranks, std::vector<std::size_t> widths);

  [[nodiscard]] std::size_t floats() const noexcept { return floats_; }
  // Puts what ranks asked for of a table, whose rows for the keys of all are given, rank after rank, into the message.
  void pack(const Inbox& asked, std::size_t table, const float* rows, float* message) const;
  // The gradient: the rows' from the message's.
  void unpack(const Inbox& asked, std::size_t table, const float* message, float* rows) const;
  // rows[i] = row places[i] of the table. Throws InvalidInput for a place that is none.
  void spread(std::size_t table, const float* message, const Links& links, float* rows) const;
  // sums[targets[i]] += row places[i], in order; sums [count, width] that get nothing are zeros. Throws as `spread`.
  void pool(std::size_t table, const float* message, const Links& links, std::size_t count, float* sums) const;
  // The gradient of both: row places[i] is the sum of gradients[targets[i]], added in order; a row that nobody names is
  // zeros. There are `count` gradients. Throws InvalidInput for a place or target that is none.
  void sum(std::size_t table, const float* gradients, std::size_t count, const Links& links, float* message) const;

 private:
  // Where each row of a table begins.
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
