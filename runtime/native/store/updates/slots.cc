// The rule that a table is trained by, and the slots of its rows.
#include <algorithm>
#include <memory>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/notices.h"
#include "store/parallel.h"
#include "store/rows/row.h"
#include "store/updates/deferred.h"
#include "store/updates/replayed.h"
#include "store/updates/updates.h"

namespace recmigrate {

bool Updates::ready_for(const Update& update) const {
  if (state().training.restored || state().training.anew) return false;
  const std::size_t before = slots_before(state().kind, update);
  if (before == kNoSet) return false;
  const float* const own = state().starts.data() + before;
  if (!std::equal(own, own + slot_count(update.kind), update.starts.begin())) return false;
  if (!moves_all(update)) return true;
  const StepsGuard steps(store_);
  return state().steps && state().steps->fits(update) && !state().steps->full();
}

// The slots that the rows will have: other optimizers of the table keep theirs.
SlotSets Updates::sets_with(const Update& update) const {
  if (state().training.anew) return {kind_of_set(update.kind, update.set), update.starts};
  return with_set({state().kind, state().starts}, update, name());
}

void Updates::adopt(OptimizerKind kind, const SlotStarts& starts, const Update* first, const std::int64_t* keys,
                    std::size_t count) {
  const OptimizerKind present = state().kind;
  const bool anew = state().training.anew && first != nullptr;
  const bool more = !anew && extends(kind, present);
  const bool other = (slot_count(present) != 0 || state().training.in_turn) && present != kind && !more;
  if (other && !anew && state().training.in_turn) {
    fail_invalid("table '" + name() + "' is trained by optimizers in turn, and has the slots of " +
                 optimizer_name(present) + " but none of " + optimizer_name(kind) +
                 " any more: train it with one optimizer, or continue with a new one");
  }
  if (other && !anew && !state().training.restored) {
    fail_invalid("table '" + name() + "' has the slots of optimizer " + optimizer_name(present) + "; " +
                 (first != nullptr ? "an update by " : "rows with those of ") + optimizer_name(kind) +
                 " would misread them: train it with " + optimizer_name(present) + ", or reset it first");
  }
  RowLayout after = store_.layout(kind, first != nullptr ? moves_all(*first) : is_deferred(kind));
  after.present |= state().layout.present;
  std::unique_ptr<Steps> extended = more && state().steps ? state().steps->extended(kind) : nullptr;
  if (anew || (state().steps && state().steps->kind() != kind && !extended)) settle();
  if (other || (anew && after.slots != 0) || !(after == state().layout)) {
    limit_.make_room_for(after, keys, count);
    store_.widen(after, (present == kind && !anew) || more, starts);
  }
  if (extended) state().steps = std::move(extended);
  state().kind = kind;
  state().starts = starts;
  state().training.restored = first == nullptr && (state().training.restored || present == OptimizerKind::none);
  if (first != nullptr) state().training.anew = false;
  if (first != nullptr && moves_all(*first)) begin_steps(*first);
  if (other && !anew) {
    notices::post("table '" + name() + "' was restored with the slots of " + optimizer_name(present) + "; those of " +
                  optimizer_name(kind) + " begin again");
  }
}

Trained Updates::trained() const {
  const ReadLock lock(store_.structure());
  return state().training.latest.load(std::memory_order_relaxed);
}

bool Updates::is_current(std::int64_t optimizer) const {
  return !state().training.optimizers.empty() && state().training.optimizers.back() == optimizer;
}

// Calls then(known, place) unless this optimizer is the current one: what was announced, and its place among them.
template <typename Then>
void Updates::change_to(std::int64_t optimizer, const Then& then) {
  {
    const ReadLock lock(store_.structure());
    if (is_current(optimizer)) return;
  }
  const Maintenance maintenance(store_.maintenance());
  const WriteLock lock(store_.structure());
  if (is_current(optimizer)) return;
  std::vector<std::int64_t>& known = state().training.optimizers;
  then(known, std::find(known.begin(), known.end(), optimizer));
}

void Updates::begin(std::int64_t optimizer, std::int64_t steps) {
  change_to(optimizer, [&](std::vector<std::int64_t>& known, const auto& before) {
    Training& training = state().training;
    if (before == known.end()) {
      training.anew = steps == 0 || !known.empty();
      training.in_turn = false;
      known.push_back(optimizer);
      return;
    }
    std::rotate(before, before + 1, known.end());
    training.anew = steps == 0;
    const bool is_news = !training.in_turn && slot_count(state().kind) != 0;
    training.in_turn = true;
    if (is_news) {
      notices::post("table '" + name() + "' is trained by optimizers in turn, which share one set of slots");
    }
  });
}

void Updates::take_over(std::int64_t optimizer, bool has_slots) {
  change_to(optimizer, [&](std::vector<std::int64_t>& known, const auto& before) {
    const bool first = known.empty();
    if (before != known.end()) {
      if (has_slots) {
        fail_invalid("the table '" + name() +
                     "' has slots for one optimizer, and another one has trained it after this one: minimize the sum "
                     "of the losses by one optimizer, or continue with a new one, whose slots begin again");
      }
      known.erase(before);
    }
    known.push_back(optimizer);
    state().training.anew = !first;
    state().training.in_turn = false;
  });
}

void Updates::begin_steps(const Update& first) {
  if (state().steps && state().steps->fits(first) && !state().steps->full()) return;
  std::unique_ptr<Steps> fresh;
  if (first.term.present || state().kind != first.kind) {
    fresh = std::make_unique<Replayed>(state().kind);
  } else {
    fresh = std::make_unique<Deferred>(first);
  }
  settle();
  state().steps = std::move(fresh);
}

void Updates::follow(std::unique_ptr<Steps> steps) {
  RowLayout after = state().layout;
  after.present |= RowLayout::bit(Cell::last_step);
  if (!(after == state().layout)) store_.widen(after, true, state().starts);
  if (state().steps && (state().steps->kind() != steps->kind() || state().steps->now() > steps->now())) settle();
  state().steps = std::move(steps);
}

void Updates::start_slot(std::int64_t set, std::int64_t number, float start) {
  const Maintenance maintenance(store_.maintenance());
  const WriteLock lock(store_.structure());
  const std::size_t place = place_of_slot(state().kind, set, number);
  if (place == kNoSet) return;
  const RowLayout& layout = state().layout;
  const auto write = [&](float* row) {
    if (state().steps) store_.catch_up(row, state().steps->now());
    std::fill_n(row + layout.slots_at() + place * layout.dim, layout.dim, start);
  };
  recmigrate::take_over(state(), store_.rebuilt_below(layout, [&](float* row, const float* old) {
    std::copy_n(old, layout.stride(), row);
    write(row);
  }));
  parallel::run(kShards, [&](std::size_t s) {
    const Shard& shard = *state().shards[s];
    shard.for_each([&](std::int64_t, Slot slot) { write(shard.row(slot)); });
  });
  state().base.for_each([&](float* row, std::int64_t) { write(row); });
}

// Lets all rows catch up on their deferred steps.
void Updates::settle() {
  if (!state().steps) return;
  recmigrate::take_over(state(), store_.rebuilt_below(state().layout, [this](float* row, const float* old) {
    std::copy_n(old, state().layout.stride(), row);
    store_.catch_up(row, 0);
    state().layout.write(row, Cell::last_step, 0);
  }));
  const auto settle_row = [this](float* row) {
    store_.catch_up(row, 0);
    state().layout.write(row, Cell::last_step, 0);
  };
  parallel::run(kShards, [&](std::size_t s) {
    const Shard& shard = *state().shards[s];
    shard.for_each([&](std::int64_t, Slot slot) { settle_row(shard.row(slot)); });
  });
  state().base.for_each([&](float* row, std::int64_t) { settle_row(row); });
  state().left *= state().steps->shrinkage();
  state().steps.reset();
}

}  // namespace recmigrate
