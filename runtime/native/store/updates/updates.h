// Updates by an optimizer's rule, and the slots that the first update adds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "store/lookup/batch.h"
#include "store/lookup/lookups.h"
#include "store/lookup/recent_batches.h"
#include "store/rows/memory_limit.h"
#include "store/rows/row_store.h"
#include "store/scratch.h"
#include "store/tiers/tiers.h"
#include "store/updates/optimizer.h"

namespace recmigrate {

// The gradients of a batch by distinct key, and if wanted their squares; those of a part start where its keys do.
struct Sums {
  // With space for copies of rows, `wide` floats for each part that is updated at the same time as others.
  explicit Sums(std::size_t floats, bool with_squares = false, std::size_t wide = 0, std::size_t at_once = 1)
      : memory(Scratch::bytes_of<float>(floats) * (with_squares ? 2 : 1) + Scratch::bytes_of<float>(at_once * wide)),
        rows(memory.take<float>(floats)),
        squares(with_squares ? memory.take<float>(floats) : nullptr),
        copies(memory.take<float>(at_once * wide)),
        wide_floats(wide),
        parts_at_once(at_once) {}

  [[nodiscard]] float* squares_at(std::size_t float_number) const noexcept {
    return squares == nullptr ? nullptr : squares + float_number;
  }

  [[nodiscard]] float* copies_of(std::size_t part) const noexcept {
    return copies + (parts_at_once == 1 ? 0 : part) * wide_floats;
  }

  Scratch memory;
  float* rows;
  float* squares;
  float* copies;
  std::size_t wide_floats;
  std::size_t parts_at_once;
  std::atomic<bool> finite{true};
};

class Updates : private Part {
 public:
  Updates(RowStore& store, RecentBatches& recent, MemoryLimit& limit, Tiers& tiers, Lookups& lookups);

  struct Gradients {
    Updates* updates;
    const std::int64_t* keys;
    std::size_t count;
    const float* grads;
    WholeTable term{};  // replaces that of the update, if there is one

    [[nodiscard]] Update own(const Update& update) const noexcept {
      Update result = update;
      if (term.present) result.term = term;
      return result;
    }
  };
  void apply(const Gradients& gradients, const Update& update);
  static void apply_together(std::vector<Gradients> all, const Update& update);
  void begin(std::int64_t optimizer, std::int64_t steps);
  [[nodiscard]] Trained trained() const;

  // Calls body() under `structure` once the rows have the slots of the update's rule, which may evict rows other than
  // those of `keys`. If slots have to be added, no one else can change them again until the update is done, so it waits
  // for at most one snapshot.
  template <typename Body>
  void with_slots(const Update& update, const std::int64_t* keys, std::size_t count, const Body& body);
  // The sums of a part start where its keys do. Whatever can fail fails before the first row changes.
  void sum_part(const Batch& batch, std::size_t part, const float* grads, Sums& sums) const noexcept;
  void require_sound(const Batch& batch, const Sums& sums, const Update& update) const;
  void update_all(const Batch& batch, const Sums& sums, const Update& update);
  // Gives the rows the slots of a rule, and starts to count its steps with the first update. The caller holds
  // `maintenance` and `structure`.
  void adopt(OptimizerKind kind, const SlotStarts& starts, const Update* first, const std::int64_t* keys,
             std::size_t count);
  // Lets rows follow the log of a checkpoint, which continues that of this table if it has one of the same rule. The
  // caller holds `maintenance` and `structure`.
  void follow(std::unique_ptr<Steps> steps);

 private:
  struct Prepared;
  // Rows that are never updated, by shard and guarded by its lock; each update searches them again.
  struct PaddingRow {
    std::int64_t key;
    float* row;
  };

  static void hold_and_apply(const std::vector<Gradients>& all, std::size_t from, const Update& update,
                             std::vector<std::unique_ptr<Prepared>>& prepared);
  [[nodiscard]] Batch sum(const Gradients& of, Sums& sums);
  void update_and_step(const Batch& batch, const Sums& sums, const Update& update);
  // An update of a batch: `number` is that of the update among those that rounded values.
  struct Pass {
    const Update& update;
    const Batch& batch;
    const Sums& sums;
    std::uint64_t number;
  };
  void update_part(const Pass& pass, std::size_t part) noexcept;
  void update_some(const Pass& pass, std::size_t part, std::size_t first, std::size_t count) const noexcept;
  void update_rows(const Pass& pass, std::size_t part, std::size_t first, std::size_t count) const noexcept;
  void update_plain(const Pass& pass, std::size_t first, std::size_t count) const noexcept;
  void update_narrow(const Pass& pass, std::size_t part, std::size_t first, std::size_t count) const noexcept;
  [[nodiscard]] std::size_t wide_floats(std::size_t count) const noexcept;
  [[noreturn]] void refuse_nonfinite(const Batch& batch, const Sums& sums) const;
  [[nodiscard]] bool find_padding(std::uint64_t shards) noexcept;
  [[nodiscard]] bool is_padding(std::int64_t id, IdKind kind, const float* row) const noexcept;
  [[nodiscard]] bool ready_for(const Update& update) const;
  // Whether a key without a row may have lost it since its lookup. If keys start with given rows, updates create them,
  // not lookups.
  [[nodiscard]] bool skips_absent() const noexcept {
    return (state().thinned && !store_.has_initial_rows()) || state().layout.has(Cell::count);
  }
  void note_trained(const Update& update) noexcept {
    state().training.latest.store({static_cast<std::int32_t>(update.kind), update.hyper[0]}, std::memory_order_relaxed);
  }
  void begin_steps(const Update& first);
  void settle();

  RecentBatches& recent_;
  MemoryLimit& limit_;
  Tiers& tiers_;
  Lookups& lookups_;
  std::vector<PaddingRow> padding_[kShards];
  std::mutex stepping_;  // one update at a time, when all rows move; taken before `steps`
};

template <typename Body>
void Updates::with_slots(const Update& update, const std::int64_t* keys, std::size_t count, const Body& body) {
  {
    const ReadLock lock(store_.structure());
    if (ready_for(update)) {
      note_trained(update);
      return body();
    }
  }
  const Maintenance maintenance(store_.maintenance());
  if (!ready_for(update)) {
    const WriteLock lock(store_.structure());
    adopt(update.kind, update.starts, &update, keys, count);
  }
  const ReadLock lock(store_.structure());
  note_trained(update);
  body();
}

}  // namespace recmigrate
