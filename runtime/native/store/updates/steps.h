// The steps that every row of a table takes, at a cost for the rows of the batch only: a row stores the number of the
// last step that it took, and catches up on all later ones when it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/updates/optimizer.h"

namespace recmigrate {

// A log of steps that tells what they do to a row without gradients of its own. Rows are value[dim], then the rule's
// slots. Not synchronized: `append` and `reserve` exclude all other calls.
class Steps {
 public:
  Steps() = default;
  Steps(const Steps&) = default;
  Steps& operator=(const Steps&) = delete;
  virtual ~Steps() = default;

  [[nodiscard]] virtual OptimizerKind kind() const noexcept = 0;
  // Whether the log can hold an update beside its steps so far. Other updates need rows that are up to date.
  [[nodiscard]] virtual bool fits(const Update& update) const noexcept = 0;
  // Whether all rows should be brought up to date, so that a new log can begin.
  [[nodiscard]] virtual bool full() const noexcept { return false; }
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
  // Throws InvalidInput for an update that no row can take.
  virtual void check(const Update& update) const = 0;

  // The last step taken; 0 at first.
  [[nodiscard]] std::uint32_t now() const noexcept { return now_; }
  [[nodiscard]] bool has_room() const noexcept { return now_ < room_; }
  // Throws std::bad_alloc.
  virtual void reserve() = 0;
  // Records a step for all rows, which `check` has accepted; `reserve` made space for it.
  virtual void append(const Update& update) noexcept = 0;

  // Brings a row that took the steps up to `from` up to date.
  virtual void catch_up(float* row, std::uint32_t from, std::size_t dim) const noexcept = 0;
  // Whether a row has the same bits if it catches up in several parts, so that a reader may let it catch up.
  [[nodiscard]] virtual bool divisible() const noexcept = 0;
  // The value that it would have then.
  virtual void value(const float* row, std::uint32_t from, std::size_t dim, float* out) const noexcept = 0;
  // Value and slots that it would have then.
  virtual void copy(const float* row, std::uint32_t from, std::size_t dim, float* value,
                    float* slots) const noexcept = 0;
  // The value of a row that was `value` with these slots when the log began.
  virtual void from_start(float* value, const SlotStarts& starts, std::size_t dim) const noexcept = 0;
  // The share of a value that weight decay has left since step 0.
  [[nodiscard]] virtual double shrinkage() const noexcept { return 1.0; }

  // The same log for rows that also have the slots of further optimizers (updates/slot_sets.h); null if it cannot hold
  // their steps.
  [[nodiscard]] virtual std::unique_ptr<Steps> extended(OptimizerKind /*kind*/) const { return nullptr; }
  [[nodiscard]] virtual std::shared_ptr<const Steps> clone() const = 0;
  // What a checkpoint keeps of the log, for rows that have not been inserted; empty if nothing is needed.
  [[nodiscard]] virtual std::vector<std::int64_t> saved() const { return {}; }

 protected:
  std::uint32_t now_ = 0;
  std::uint32_t room_ = 0;  // number of steps with allocated memory
};

}  // namespace recmigrate
