// How the pooled ops reach a table's rows and the distinct keys of a batch: the only place that knows the store's ways.
#pragma once

#include <cstddef>
#include <cstdint>

#include "store/lookup/batch.h"
#include "store/table.h"

namespace recmigrate::ops {

// Ids whose rows are fetched together.
inline constexpr std::size_t kRowBlock = kBlock;

// Rows of a batch's keys while `visit_rows` runs; may be used from several threads.
using RowReader = Table::View;

// Calls body(reader) once; with `insert`, unseen keys are inserted first.
template <typename Body>
void visit_rows(Table& table, const std::int64_t* keys, std::size_t count, bool insert, const Body& body) {
  table.view(keys, count, insert, body);
}

// Some distinct keys of a batch: ids[positions[i]] is key number numbers[i]; numbers first appear as 0, 1, 2, …
struct DistinctPart {
  const std::int64_t* keys;
  std::size_t distinct;
  const std::uint32_t* positions;
  const std::uint32_t* numbers;
  std::size_t ids;
  std::size_t begin;  // how many distinct keys the parts before this one have
};

// The distinct keys of a batch, in an order that depends on nothing but the batch.
class DistinctKeys {
 public:
  // Those of a look-up that lately inserted these keys into the table are taken from there.
  DistinctKeys(Table& table, const std::int64_t* keys, std::size_t count) : step_batch_(table.take_batch(keys, count)) {
    for (std::size_t part = 0; part < kShards; ++part) {
      begins_[part] = size_;
      size_ += step_batch_->batch.distinct(part);
    }
  }

  // The whole batch, and its distinct keys alone, with their rows if the look-up left them.
  [[nodiscard]] const Table::StepBatch& ids() const noexcept { return *step_batch_; }
  [[nodiscard]] Table::StepBatchPtr alone(const std::int64_t* keys) const {
    return std::make_unique<Table::StepBatch>(keys, step_batch_->batch.distinct_only(), step_batch_->epoch);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Calls body(part) for every part, from several threads.
  template <typename Body>
  void for_each_part(const Body& body) const {
    const Batch& batch = step_batch_->batch;
    batch.for_each_part([&](std::size_t part) {
      const std::size_t begin = batch.begin(part);
      body(DistinctPart{batch.keys() + begin, batch.distinct(part), batch.positions() + begin, batch.numbers() + begin,
                        batch.ids(part), begins_[part]});
    });
  }

 private:
  Table::StepBatchPtr step_batch_;
  std::size_t begins_[kShards] = {};
  std::size_t size_ = 0;
};

}  // namespace recmigrate::ops
