// Updates, and the slots that come with the first one.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include "store/address.h"
#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"
#include "store/row.h"
#include "store/table.h"

namespace recmigrate {

// What can fail of an update, done: the rows of a batch and the sums of their gradients.
struct Table::Prepared {
  Prepared(Table& table, const Gradients& gradients)
      : sums(gradients.count * table.dim_), batch(table.sum(gradients, sums)) {}

  Sums sums;
  const Batch batch;
};

void Table::apply(const std::int64_t* keys, std::size_t count, const float* grads, const Update& update) {
  make_way();
  with_room([&] {
    with_slots(update, keys, count, [&] {
      const Prepared prepared(*this, {this, keys, count, grads});
      require_sound(prepared.batch, prepared.sums, update);
      update_all(prepared.batch, prepared.sums, update);
    });
  });
  after_use();
}

void Table::apply_together(std::vector<Gradients> all, const Update& update) {
  // In one order for all callers: each waits for the tables that come after those it holds.
  std::sort(all.begin(), all.end(),
            [](const Gradients& a, const Gradients& b) { return std::less<>()(a.table, b.table); });
  const auto twice = std::adjacent_find(all.begin(), all.end(),
                                        [](const Gradients& a, const Gradients& b) { return a.table == b.table; });
  if (twice != all.end()) {
    fail_invalid("table '" + twice->table->name() + "' comes twice in one update; add its gradients up first");
  }
  for (const Gradients& one : all) one.table->make_way();
  std::vector<std::unique_ptr<Prepared>> prepared(all.size());
  with_room([&] { hold_and_apply(all, 0, update, prepared); });
  for (const Gradients& one : all) one.table->after_use();
}

// Takes the tables from number `from` on, one after the other, then updates all.
void Table::hold_and_apply(const std::vector<Gradients>& all, std::size_t from, const Update& update,
                           std::vector<std::unique_ptr<Prepared>>& prepared) {
  if (from < all.size()) {
    const Gradients& own = all[from];
    return own.table->with_slots(update, own.keys, own.count, [&] { hold_and_apply(all, from + 1, update, prepared); });
  }
  parallel::run(all.size(), [&](std::size_t i) { prepared[i] = std::make_unique<Prepared>(*all[i].table, all[i]); });
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].table->require_sound(prepared[i]->batch, prepared[i]->sums, update);
  parallel::run(all.size(),
                [&](std::size_t i) { all[i].table->update_all(prepared[i]->batch, prepared[i]->sums, update); });
}

// The batch of some gradients, which are summed: that of their look-up, or a new one.
Batch Table::sum(const Gradients& of, Sums& sums) {
  if (const FoundPtr found = recall(of.keys, of.count)) {
    found->batch.for_each_part([&](std::size_t part) { sum_part(found->batch, part, of.grads, sums); });
    return std::move(found->batch);
  }
  const bool insert = !skips_absent();
  if (limited() || tiered()) {
    Batch batch = resolve(of.keys, of.count, insert);
    batch.for_each_part([&](std::size_t part) { sum_part(batch, part, of.grads, sums); });
    return batch;
  }
  const auto then = [&](Batch& part_of, std::size_t part) {
    resolve_part(part_of, part, insert);
    sum_part(part_of, part, of.grads, sums);
  };
  return Batch(of.keys, of.count, IdKind::key, Fetch{*this}, then, Division::few);
}

bool Table::ready_for(const Update& update) const {
  if (state_->kind != update.kind || state_->starts != update.starts || state_->restored || state_->anew) return false;
  if (!is_deferred(update.kind)) return true;
  const StepsGuard steps(*this);
  return state_->steps && state_->steps->fits(update) && !state_->steps->full();
}

// Gives the rows the slots of a rule, and begins to count its steps when the first update is there. The caller holds
// `maintenance_` and `structure_`.
void Table::adopt(OptimizerKind kind, const SlotStarts& starts, const Update* first, const std::int64_t* keys,
                  std::size_t count) {
  const OptimizerKind present = state_->kind;
  const bool anew = state_->anew && first != nullptr;
  const bool other = (slot_count(present) != 0 || state_->in_turn) && present != kind;
  if (other && !anew && state_->in_turn) {
    fail_invalid("table '" + name() + "' is trained by optimizers in turn, and has the slots of " +
                 optimizer_name(present) + " but none of " + optimizer_name(kind) +
                 " any more: train it with one, or go on with a new one");
  }
  if (other && !anew && !state_->restored) {
    fail_invalid("table '" + name() + "' has the slots of optimizer " + optimizer_name(present) + "; " +
                 (first != nullptr ? "an update by " : "rows with those of ") + optimizer_name(kind) +
                 " would misread them: train it with " + optimizer_name(present) + ", or reset it first");
  }
  RowLayout after = layout(kind);
  after.present |= state_->layout.present;
  if (anew) settle();
  if (other || (anew && after.slots != 0) || !(after == state_->layout)) {
    make_room_for(after, keys, count);
    widen(after, present == kind && !anew, starts);
  }
  if (other && !anew) {
    std::fprintf(stderr, "recmigrate: table '%s' was restored with the slots of %s; those of %s start anew\n",
                 name().c_str(), optimizer_name(present), optimizer_name(kind));
  }
  state_->kind = kind;
  state_->starts = starts;
  state_->restored = first == nullptr && (state_->restored || present == OptimizerKind::none);
  if (first != nullptr) state_->anew = false;
  if (first != nullptr && is_deferred(kind)) begin_steps(*first);
}

Table::Trained Table::trained() const {
  const ReadLock lock(structure_);
  return state_->trained.load(std::memory_order_relaxed);
}

void Table::begin(std::int64_t optimizer, std::int64_t steps) {
  const auto present = [&] { return !state_->optimizers.empty() && state_->optimizers.back() == optimizer; };
  {
    const ReadLock lock(structure_);
    if (present()) return;
  }
  const Maintenance maintenance(maintenance_);
  const WriteLock lock(structure_);
  if (present()) return;
  std::vector<std::int64_t>& known = state_->optimizers;
  const bool first = known.empty();
  const auto before = std::find(known.begin(), known.end(), optimizer);
  if (before == known.end()) {
    known.push_back(optimizer);
    state_->anew = steps == 0 || !first;
    state_->in_turn = false;
    return;
  }
  std::rotate(before, before + 1, known.end());
  state_->anew = steps == 0;
  if (!state_->in_turn && slot_count(state_->kind) != 0) {
    std::fprintf(stderr, "recmigrate: table '%s' is trained by optimizers in turn, which share one set of slots\n",
                 name().c_str());
  }
  state_->in_turn = true;
}

void Table::begin_steps(const Update& first) {
  auto fresh = std::make_unique<Deferred>(first);
  settle();
  state_->steps = std::move(fresh);
}

// Lets all rows take the steps that they put off.
void Table::settle() {
  if (!state_->steps) return;
  take_over(rebuilt_below(state_->layout, [this](float* row, const float* old) {
    std::copy_n(old, state_->layout.stride(), row);
    catch_up(row, 0);
    state_->layout.write(row, Cell::last_step, 0);
  }));
  parallel::run(kShards, [this](std::size_t s) {
    const Shard& shard = *state_->shards[s];
    shard.index.for_each([&](std::int64_t, Slot slot) {
      float* const row = shard.rows.row(slot);
      catch_up(row, 0);
      state_->layout.write(row, Cell::last_step, 0);
    });
  });
  state_->left *= state_->steps->shrinkage();
  state_->steps.reset();
}

// Lets a row take its steps and notes that it took those up to `taken`.
void Table::catch_up(float* row, std::uint32_t taken) const noexcept {
  const std::uint32_t from = state_->layout.read(row, Cell::last_step);
  state_->steps->catch_up(row, from, dim_);
  state_->layout.write(row, Cell::last_step, std::max(from, taken));
}

// The new rows are built beside the old ones: when memory runs out, nothing has changed.
void Table::widen(const RowLayout& after, bool keep_slots, const SlotStarts& starts) {
  const Recount recount(*this);
  const RowLayout before = state_->layout;
  auto arena = std::make_unique<Arena>(after.chunk_bytes());
  std::vector<Rows> wider(kShards, Rows(after, *arena));
  const auto widen_row = [&](float* row, const float* old) {
    copy_row(row, old, dim_);
    if (keep_slots) {
      std::copy_n(old + dim_, after.slot_width(), row + dim_);
    } else {
      for (std::size_t i = 0; i < after.slots; ++i) std::fill_n(row + dim_ * (1 + i), dim_, starts[i]);
    }
    after.copy_cells(row, before, old);
  };
  parallel::run(kShards, [&](std::size_t s) {
    const Shard& shard = *state_->shards[s];
    wider[s].reserve(shard.used);
    for (Slot slot = 0; slot < shard.used; ++slot) widen_row(wider[s].row(slot), shard.rows.row(slot));
  });
  take_over(rebuilt_below(after, widen_row));
  for (std::size_t s = 0; s < kShards; ++s) state_->shards[s]->rows = std::move(wider[s]);
  state_->arena = std::move(arena);
  state_->layout = after;
  ++epoch_;
}

// The sums of a part start where its keys do. What can fail fails before the first row changes.
void Table::sum_part(const Batch& batch, std::size_t part, const float* grads, Sums& sums) const noexcept {
  const std::size_t begin = batch.begin(part);
  float* const to = &sums.rows[begin * dim_];
  sum_rows(to, batch.numbers() + begin, grads, batch.positions() + begin, batch.ids(part), dim_);
  if (!all_finite(to, batch.distinct(part) * dim_)) sums.finite = false;
}

void Table::require_sound(const Batch& batch, const Sums& sums, const Update& update) const {
  if (!sums.finite && update.nonfinite == Nonfinite::error) refuse_nonfinite(batch, sums);
  if (state_->steps) Deferred::check(update);
}

void Table::update_all(const Batch& batch, const Sums& sums, const Update& update) {
  if (state_->steps) return update_and_step(batch, sums, update);
  batch.for_each_part([&](std::size_t part) { update_part(batch, part, sums, update); });
}

// The rows of the batch take the step at once, and all others when they are needed.
void Table::update_and_step(const Batch& batch, const Sums& sums, const Update& update) {
  Deferred& steps = *state_->steps;
  const std::lock_guard<std::mutex> one(stepping_);
  if (!steps.has_room()) {
    const WriteLock lock(steps_);
    steps.reserve();
  }
  batch.for_each_part([&](std::size_t part) { update_part(batch, part, sums, update); });
  const WriteLock lock(steps_);
  steps.append(update);
}

void Table::update_rows(const Update& update, float* const* rows, const float* sums, std::size_t count) const noexcept {
  if (state_->steps) {
    for (std::size_t i = 0; i < count; ++i) catch_up(rows[i], state_->steps->now() + 1);
  }
  apply_update(update, rows, sums, count, dim_);
}

void Table::refuse_nonfinite(const Batch& batch, const Sums& sums) const {
  std::size_t worst = batch.count();  // by the first position that shows it, whatever the threads did
  std::int64_t key = 0;
  for (std::size_t part = 0; part < kShards; ++part) {
    for (std::size_t i = batch.begin(part); i < batch.begin(part) + batch.distinct(part); ++i) {
      if (batch.firsts()[i] >= worst || all_finite(&sums.rows[i * dim_], dim_)) continue;
      worst = batch.firsts()[i];
      key = batch.keys()[i];
    }
  }
  fail_invalid(
      "the gradient for " + std::string(batch.kind() == IdKind::key ? "key " : "address ") + std::to_string(key) +
      " of table '" + name() +
      "' has a NaN or an infinity, and no row was changed; clip or mend the gradients, or create the optimizer "
      "with nonfinite='skip' to leave such rows as they are");
}

// One part's updates; the rows of the next block are fetched while this one is updated.
void Table::update_part(const Batch& batch, std::size_t part, const Sums& all_sums, const Update& update) noexcept {
  const std::size_t first = batch.begin(part);
  const std::size_t count = batch.distinct(part);
  const float* const sums = &all_sums.rows[first * dim_];
  float* const* const rows = batch.rows() + first;
  const std::size_t width = state_->steps ? state_->layout.stride() : state_->layout.cells_at();
  for (std::size_t i = 0; i < std::min(kBlock, count); ++i) prefetch_row(rows[i], width);
  const WriteGuard guard(*state_, batch.shards(part));
  save_part(batch, part);
  const bool all = !find_padding(batch.shards(part)) && all_sums.finite && !skips_absent();
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t some = std::min(kBlock, count - begin);
    for (std::size_t i = begin + kBlock; i < std::min(begin + 2 * kBlock, count); ++i) prefetch_row(rows[i], width);
    if (all) {
      update_rows(update, rows + begin, sums + begin * dim_, some);
    } else {
      update_some(update, batch, first + begin, sums + begin * dim_, some);
    }
  }
}

// Finds the padding rows of these shards again; false where they have none.
bool Table::find_padding(std::uint64_t shards) noexcept {
  if (config_.padding_keys.empty()) return false;
  bool any = false;
  for (; shards != 0; shards &= shards - 1) {
    const auto s = static_cast<std::size_t>(__builtin_ctzll(shards));
    for (PaddingRow& one : padding_[s]) one.row = state_->shards[s]->find(hash_key(one.key), one.key);
    any = any || !padding_[s].empty();
  }
  return any;
}

bool Table::is_padding(std::int64_t id, IdKind kind, const float* row) const noexcept {
  const std::vector<PaddingRow>& own = padding_[shard_of_id(id, kind)];
  return std::any_of(own.begin(), own.end(), [row](const PaddingRow& one) { return one.row == row; });
}

// Updates some distinct keys of a batch, from number `first` on, but those that are gone, those of padding keys and
// those whose gradient is to be skipped.
void Table::update_some(const Update& update, const Batch& batch, std::size_t first, const float* sums,
                        std::size_t count) const noexcept {
  float* const* const rows = batch.rows() + first;
  const auto stays = [&](std::size_t i) {
    if (rows[i] == nullptr) return true;
    if (update.nonfinite == Nonfinite::skip && !all_finite(sums + i * dim_, dim_)) return true;
    return is_padding(batch.keys()[first + i], batch.kind(), rows[i]);
  };
  std::size_t from = 0;
  for (std::size_t i = 0; i <= count; ++i) {
    if (i < count && !stays(i)) continue;
    if (i > from) update_rows(update, rows + from, sums + from * dim_, i - from);
    from = i + 1;
  }
}

// Saves the rows of a part, whose shards are held, to the snapshots under way before they change.
void Table::save_part(const Batch& batch, std::size_t part) noexcept {
  const std::int64_t* const keys = batch.keys() + batch.begin(part);
  bool any = false;
  for (std::uint64_t rest = batch.shards(part); rest != 0; rest &= rest - 1) {
    any = any || state_->shards[static_cast<std::size_t>(__builtin_ctzll(rest))]->capture.active();
  }
  for (std::size_t i = 0; any && i < batch.distinct(part); ++i) {
    Shard& shard = *state_->shards[shard_of_id(keys[i], batch.kind())];
    if (!shard.capture.active()) continue;
    const Slot slot =
        batch.kind() == IdKind::address ? address_slot(keys[i]) : shard.index.find(hash_key(keys[i]), keys[i]);
    if (slot != kAbsent) shard.capture.save(slot, shard.rows.row(slot));
  }
}

}  // namespace recmigrate
