#include "store/lookup/recent_batches.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace recmigrate {
namespace {

// Batches kept for their updates: a step rarely looks up more than a few before it updates. Each takes about 36 bytes
// per id, so their total size is limited, and those of a bulk load are not kept.
constexpr std::size_t kRemembered = 4;
constexpr std::size_t kRememberedIds = std::size_t{1} << 20;

// An update is expected until this many further batches have come.
constexpr std::uint32_t kPatience = 8;

}  // namespace

StepBatch::StepBatch(const std::int64_t* keys, Batch&& keys_with_rows, std::uint64_t now)
    : ids(new std::int64_t[keys_with_rows.count()]), batch(std::move(keys_with_rows)), epoch(now) {
  std::copy_n(keys, batch.count(), ids.get());
}

bool StepBatch::is_for(const std::int64_t* keys, std::size_t count) const noexcept {
  return batch.count() == count && std::memcmp(ids.get(), keys, count * sizeof *keys) == 0;
}

void RecentBatches::remember(const std::int64_t* keys, Batch&& batch) {
  if (batch.count() == 0 || batch.count() > kRememberedIds) return;
  leave(std::make_unique<StepBatch>(keys, std::move(batch), store_.epoch()));
}

void RecentBatches::leave(StepBatchPtr batch) {
  const std::size_t ids = batch->batch.count();
  const std::lock_guard<std::mutex> lock(mutex_);
  recent_.reserve(kRemembered + 1);
  while (!recent_.empty() && (recent_.size() == kRemembered || recent_ids_ + ids > kRememberedIds)) {
    recent_ids_ -= recent_.front()->batch.count();
    recent_.erase(recent_.begin());
  }
  recent_ids_ += ids;
  recent_.push_back(std::move(batch));
  if (wanted()) ++unasked_;
}

// Removes and returns the lookup of exactly these keys, if it was recent.
StepBatchPtr RecentBatches::take_exactly(const std::int64_t* ids, std::size_t count) {
  const std::lock_guard<std::mutex> lock(mutex_);
  unasked_ = 0;
  for (auto at = recent_.rbegin(); at != recent_.rend(); ++at) {
    if (!(*at)->is_for(ids, count)) continue;
    StepBatchPtr found = std::move(*at);
    recent_.erase(std::next(at).base());
    recent_ids_ -= count;
    return found;
  }
  return nullptr;
}

// The same, if all its rows still exist. The caller holds `structure`.
StepBatchPtr RecentBatches::recall(const std::int64_t* ids, std::size_t count) {
  StepBatchPtr found = take_exactly(ids, count);
  return found && has_rows(*found) ? std::move(found) : nullptr;
}

StepBatchPtr RecentBatches::take(const std::int64_t* keys, std::size_t count) {
  if (StepBatchPtr found = take_exactly(keys, count); found && !found->batch.undivided()) return found;
  return std::make_unique<StepBatch>(keys, Batch(keys, count, IdKind::key, [](Batch&, std::size_t) {}), kNotSearched);
}

void RecentBatches::clear() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  recent_.clear();
  recent_ids_ = 0;
}

std::uint64_t RecentBatches::awaited() noexcept {
  std::uint64_t first = kNoBatch;
  const std::uint32_t now = state().batches;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const StepBatchPtr& one : recent_) {
    if (has_rows(*one) && now - one->batch.stamp() < kPatience)
      first = std::min<std::uint64_t>(first, one->batch.stamp());
  }
  return first;
}

}  // namespace recmigrate
