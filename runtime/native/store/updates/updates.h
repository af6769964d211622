// Updates by an optimizer's rule, and the slots that the first update adds.
#pragma once

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
#include "store/tiers/tiers.h"
#include "store/updates/optimizer.h"
#include "store/updates/slot_sets.h"
#include "store/updates/sums.h"

namespace recmigrate {

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
  void take_over(std::int64_t optimizer, bool has_slots);
  [[nodiscard]] Trained trained() const;

  // Calls body() under `structure` once the rows have the slots of the update's rule, which may evict rows other than
  // those of `keys`. If slots have to be added, no one else can change them again until the update is done, so it waits
  // for at most one snapshot.
  template <typename Body>
  void with_slots(const Update& update, const std::int64_t* keys, std::size_t count, const Body& body);
  // The sums of a batch's gradients, [count, dim]. Throws std::bad_alloc.
  [[nodiscard]] Sums sums_of(const Batch& batch, const float* grads, const Update& update) const;
  // Whatever can fail fails before the first row changes.
  void require_sound(const Batch& batch, const Sums& sums, const Update& update) const;
  void update_all(const Batch& batch, const Sums& sums, const Update& update);
  // Whether this optimizer was announced last. The caller holds `structure`.
  [[nodiscard]] bool is_current(std::int64_t optimizer) const;
  template <typename Then>
  void change_to(std::int64_t optimizer, const Then& then);
  // Gives the rows the slots of a rule, or of several optimizers, and starts to count its steps with the first update.
  // The caller holds `maintenance` and `structure`.
  void adopt(OptimizerKind kind, const SlotStarts& starts, const Update* first, const std::int64_t* keys,
             std::size_t count);
  // Lets rows follow the log of a checkpoint, which continues that of this table if it has one of the same rule. The
  // caller holds `maintenance` and `structure`.
  void follow(std::unique_ptr<Steps> steps);
  void start_slot(std::int64_t set, std::int64_t number, float start);
  // Whether a key without a row may have lost it since its lookup. If keys start with given rows, updates create them,
  // not lookups.
  [[nodiscard]] bool skips_absent() const noexcept {
    return (state().thinned && !store_.has_initial_rows()) || state().layout.has(Cell::count);
  }

 private:
  struct Prepared;
  // Rows that are never updated, by shard and guarded by its lock; each update searches them again.
  struct PaddingRow {
    std::int64_t key;
    float* row;
  };

  static void hold_and_apply(const std::vector<Gradients>& all, std::size_t from, const Update& update,
                             std::vector<std::unique_ptr<Prepared>>& prepared);
  [[nodiscard]] Batch batch_of(const Gradients& gradients);
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
  [[nodiscard]] std::size_t wide_floats(std::size_t count) const noexcept;
  void update_plain(const Pass& pass, std::size_t part, std::size_t first, std::size_t count) const noexcept;
  void update_narrow(const Pass& pass, std::size_t part, std::size_t first, std::size_t count) const noexcept;
  [[noreturn]] void refuse_nonfinite(const Batch& batch, const Sums& sums) const;
  [[nodiscard]] bool find_padding(std::uint64_t shards) noexcept;
  [[nodiscard]] bool is_padding(std::int64_t id, IdKind kind, const float* row) const noexcept;
  [[nodiscard]] bool ready_for(const Update& update) const;
  [[nodiscard]] SlotSets sets_with(const Update& update) const;
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
    const SlotSets sets = sets_with(update);
    adopt(sets.kind, sets.starts, &update, keys, count);
  }
  const ReadLock lock(store_.structure());
  note_trained(update);
  body();
}

}  // namespace recmigrate
