#include "store/updates/updates.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"
#include "store/rows/row.h"
#include "store/updates/replayed.h"
#include "store/updates/slot_sets.h"

namespace recmigrate {

// The part of an update that can fail, done: the rows of a batch and the sums of their gradients.
struct Updates::Prepared {
  Prepared(const Gradients& of, const Update& update)
      : batch(of.updates->batch_of(of)), sums(of.updates->sums_of(batch, of.grads, update)) {}

  const Batch batch;
  const Sums sums;
};

Updates::Updates(RowStore& store, RecentBatches& recent, MemoryLimit& limit, Tiers& tiers, Lookups& lookups)
    : Part(store), recent_(recent), limit_(limit), tiers_(tiers), lookups_(lookups) {
  for (const std::int64_t key : config_.padding_keys) padding_[shard_of(hash_key(key))].push_back({key, nullptr});
}

void Updates::apply(const Gradients& gradients, const Update& update) {
  store_.expect(gradients.count);
  tiers_.make_way();
  MemoryLimit::with_room([&] {
    with_slots(update, gradients.keys, gradients.count, [&] {
      const Prepared prepared(gradients, update);
      require_sound(prepared.batch, prepared.sums, update);
      update_all(prepared.batch, prepared.sums, update);
    });
  });
  tiers_.after_use();
}

void Updates::apply_together(std::vector<Gradients> all, const Update& update) {
  // In the same order for all callers: each waits for tables that come after those it has locked.
  std::sort(all.begin(), all.end(),
            [](const Gradients& a, const Gradients& b) { return std::less<>()(a.updates, b.updates); });
  const auto twice = std::adjacent_find(all.begin(), all.end(),
                                        [](const Gradients& a, const Gradients& b) { return a.updates == b.updates; });
  if (twice != all.end()) {
    fail_invalid("table '" + twice->updates->name() + "' appears twice in one update; sum its gradients first");
  }
  for (const Gradients& one : all) {
    one.updates->store_.expect(one.count);
    one.updates->tiers_.make_way();
  }
  std::vector<std::unique_ptr<Prepared>> prepared(all.size());
  MemoryLimit::with_room([&] { hold_and_apply(all, 0, update, prepared); });
  for (const Gradients& one : all) one.updates->tiers_.after_use();
}

// Locks the tables from number `from` on, one after the other, then updates all.
void Updates::hold_and_apply(const std::vector<Gradients>& all, std::size_t from, const Update& update,
                             std::vector<std::unique_ptr<Prepared>>& prepared) {
  if (from < all.size()) {
    const Gradients& own = all[from];
    return own.updates->with_slots(own.own(update), own.keys, own.count,
                                   [&] { hold_and_apply(all, from + 1, update, prepared); });
  }
  parallel::run(all.size(),
                [&](std::size_t i) { prepared[i] = std::make_unique<Prepared>(all[i], all[i].own(update)); });
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].updates->require_sound(prepared[i]->batch, prepared[i]->sums, all[i].own(update));
  parallel::run(all.size(), [&](std::size_t i) {
    all[i].updates->update_all(prepared[i]->batch, prepared[i]->sums, all[i].own(update));
  });
}

// The batch of some gradients: that of their lookup, or a new one.
Batch Updates::batch_of(const Gradients& gradients) {
  if (const StepBatchPtr found = recent_.recall(gradients.keys, gradients.count)) return std::move(found->batch);
  const bool insert = !skips_absent();
  if (limited() || tiered()) return lookups_.resolve(gradients.keys, gradients.count, insert);
  const auto then = [&](Batch& batch, std::size_t part) { lookups_.resolve_part(batch, part, insert); };
  return {gradients.keys, gradients.count, IdKind::key, Lookups::Fetch{store_}, then, Division::few};
}

Sums Updates::sums_of(const Batch& batch, const float* grads, const Update& update) const {
  return {batch, grads, dim_, update.needs_squares(), wide_floats(batch.count())};
}

void Updates::require_sound(const Batch& batch, const Sums& sums, const Update& update) const {
  if (!sums.finite() && update.nonfinite == Nonfinite::error) refuse_nonfinite(batch, sums);
  if (state().steps) state().steps->check(update);
}

void Updates::update_all(const Batch& batch, const Sums& sums, const Update& update) {
  if (state().steps) return update_and_step(batch, sums, update);
  const Pass pass{update, batch, sums, store_.narrow() ? state().updates++ : 0};
  batch.for_each_part([&](std::size_t part) { update_part(pass, part); });
}

// The rows of the batch take the step at once, all others when they are needed, if it is one of theirs.
void Updates::update_and_step(const Batch& batch, const Sums& sums, const Update& update) {
  Steps& steps = *state().steps;
  const bool all = moves_all(update);
  const std::lock_guard<std::mutex> one(stepping_);
  if (all && !steps.has_room()) {
    const WriteLock lock(store_.steps());
    steps.reserve();
  }
  const Pass pass{update, batch, sums, store_.narrow() ? state().updates++ : 0};
  batch.for_each_part([&](std::size_t part) { update_part(pass, part); });
  if (!all) return;
  const WriteLock lock(store_.steps());
  steps.append(update);
}

// Updates distinct keys of a part, from number `first` of the batch on, that all have a row.
void Updates::update_rows(const Pass& pass, std::size_t part, std::size_t first, std::size_t count) const noexcept {
  store_.narrow() ? update_narrow(pass, part, first, count) : update_plain(pass, part, first, count);
}

void Updates::update_plain(const Pass& pass, std::size_t part, std::size_t first, std::size_t count) const noexcept {
  const Update& update = pass.update;
  float* const* const rows = pass.batch.rows() + first;
  if (state().steps) {
    const std::uint32_t taken = state().steps->now() + (moves_all(update) ? 1 : 0);
    for (std::size_t i = 0; i < count; ++i) store_.catch_up(rows[i], taken);
  }
  const std::size_t number = first - pass.batch.begin(part);
  float* const sums = pass.sums.of(part, number);
  if (update.term.present) add_term(update.term, rows, sums, count, dim_);
  apply_set(state().kind, update, rows, sums, pass.sums.squares_of(part, number), count, dim_);
}

void Updates::refuse_nonfinite(const Batch& batch, const Sums& sums) const {
  std::size_t worst = batch.count();  // by the first position, whatever the threads did
  std::int64_t key = 0;
  for (std::size_t part = 0; part < kShards; ++part) {
    const std::size_t begin = batch.begin(part);
    for (std::size_t i = 0; i < batch.distinct(part); ++i) {
      if (batch.firsts()[begin + i] >= worst || all_finite(sums.of(part, i), dim_)) continue;
      worst = batch.firsts()[begin + i];
      key = batch.keys()[begin + i];
    }
  }
  fail_invalid(
      "the gradient for " + std::string(batch.kind() == IdKind::key ? "key " : "address ") + std::to_string(key) +
      " of table '" + name() +
      "' has a NaN or an infinity, and no row was changed; clip or correct the gradients, or create the optimizer "
      "with nonfinite='skip' to leave such rows as they are");
}

// One part's updates; the rows of the next block are fetched while this one is updated.
void Updates::update_part(const Pass& pass, std::size_t part) noexcept {
  const Batch& batch = pass.batch;
  const std::size_t first = batch.begin(part);
  const std::size_t count = batch.distinct(part);
  float* const* const rows = batch.rows() + first;
  const std::size_t width = state().steps ? state().layout.stride() : state().layout.cells_at();
  for (std::size_t i = 0; i < std::min(kBlock, count); ++i) prefetch_row(rows[i], width);
  const WriteGuard guard(state(), batch.shards(part));
  store_.save_part(batch, part);
  const bool all = !find_padding(batch.shards(part)) && pass.sums.finite() && !skips_absent();
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t some = std::min(kBlock, count - begin);
    for (std::size_t i = begin + kBlock; i < std::min(begin + 2 * kBlock, count); ++i) prefetch_row(rows[i], width);
    if (all) {
      update_rows(pass, part, first + begin, some);
    } else {
      update_some(pass, part, first + begin, some);
    }
  }
}

// Searches the padding rows of these shards again; false if they have none.
bool Updates::find_padding(std::uint64_t shards) noexcept {
  if (config_.padding_keys.empty()) return false;
  bool any = false;
  for (; shards != 0; shards &= shards - 1) {
    const auto s = static_cast<std::size_t>(__builtin_ctzll(shards));
    for (PaddingRow& one : padding_[s]) one.row = state().of_part(s).find(hash_key(one.key), one.key);
    any = any || !padding_[s].empty();
  }
  return any;
}

bool Updates::is_padding(std::int64_t id, IdKind kind, const float* row) const noexcept {
  const std::vector<PaddingRow>& own = padding_[shard_of_id(id, kind)];
  return std::any_of(own.begin(), own.end(), [row](const PaddingRow& one) { return one.row == row; });
}

// Updates some distinct keys of a batch, from number `first` on, except removed keys, padding keys, and keys whose
// gradient is to be skipped.
void Updates::update_some(const Pass& pass, std::size_t part, std::size_t first, std::size_t count) const noexcept {
  const Batch& batch = pass.batch;
  float* const* const rows = batch.rows() + first;
  const float* const sums = pass.sums.of(part, first - batch.begin(part));
  const auto stays = [&](std::size_t i) {
    if (rows[i] == nullptr) return true;
    if (pass.update.nonfinite == Nonfinite::skip && !all_finite(sums + i * dim_, dim_)) return true;
    return is_padding(batch.keys()[first + i], batch.kind(), rows[i]);
  };
  std::size_t from = 0;
  for (std::size_t i = 0; i <= count; ++i) {
    if (i < count && !stays(i)) continue;
    if (i > from) update_rows(pass, part, first + from, i - from);
    from = i + 1;
  }
}

}  // namespace recmigrate
