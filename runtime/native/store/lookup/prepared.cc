#include "store/lookup/prepared.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace recmigrate::prepared {
namespace {

struct Prepared {
  Prepared(const std::int64_t* from, std::size_t count)
      : ids(new std::int64_t[count]), batch(from, count, IdKind::key, [](Batch&, std::size_t) {}) {
    std::copy_n(from, count, ids.get());
  }

  std::unique_ptr<std::int64_t[]> ids;
  Batch batch;
};

struct Kept {
  std::mutex mutex;
  std::list<Prepared> batches;  // the oldest first
  std::size_t ids = 0;
  // Lets a lookup without a prepared batch skip the lock.
  std::atomic<std::size_t> count{0};
};

bool is_of(const Prepared& one, const std::int64_t* ids, std::size_t count) noexcept {
  return one.batch.count() == count && std::memcmp(one.ids.get(), ids, count * sizeof *ids) == 0;
}

std::vector<std::int64_t> distinct_keys(const Batch& batch) {
  std::vector<std::int64_t> keys;
  keys.reserve(batch.distinct());
  for (std::size_t part = 0; part < kShards; ++part) {
    const std::int64_t* const first = batch.keys() + batch.begin(part);
    keys.insert(keys.end(), first, first + batch.distinct(part));
  }
  return keys;
}

// Never destroyed: threads of a pipeline may outlive main.
Kept& kept() {
  static Kept* const all = new Kept;
  return *all;
}

}  // namespace

void prepare(const std::int64_t* ids, std::size_t count) {
  if (count == 0 || count > kMostIds) return;
  std::list<Prepared> made;
  made.emplace_back(ids, count);
  std::list<Prepared> forgotten;  // freed after the lock is released
  Kept& all = kept();
  const std::lock_guard<std::mutex> lock(all.mutex);
  while (!all.batches.empty() && (all.batches.size() == kMostBatches || all.ids + count > kMostIds)) {
    all.ids -= all.batches.front().batch.count();
    forgotten.splice(forgotten.end(), all.batches, all.batches.begin());
  }
  all.batches.splice(all.batches.end(), made);
  all.ids += count;
  all.count = all.batches.size();
}

std::vector<std::int64_t> distinct(const std::int64_t* ids, std::size_t count) {
  Kept& all = kept();
  if (all.count != 0) {
    const std::lock_guard<std::mutex> lock(all.mutex);
    const auto found = std::find_if(all.batches.rbegin(), all.batches.rend(),
                                    [&](const Prepared& one) { return is_of(one, ids, count); });
    if (found != all.batches.rend()) return distinct_keys(found->batch);
  }
  return distinct_keys(Batch(ids, count, IdKind::key, [](Batch&, std::size_t) {}));
}

std::optional<Batch> take(const std::int64_t* ids, std::size_t count) {
  Kept& all = kept();
  if (all.count == 0) return std::nullopt;
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found =
      std::find_if(all.batches.begin(), all.batches.end(), [&](const Prepared& one) { return is_of(one, ids, count); });
  if (found == all.batches.end()) return std::nullopt;
  std::optional<Batch> batch(std::move(found->batch));
  all.batches.erase(found);
  all.ids -= count;
  all.count = all.batches.size();
  return batch;
}

}  // namespace recmigrate::prepared
