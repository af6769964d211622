// Rows of lower tiers that are read ahead: copies of them wait beside the rows in memory for the batch that needs them.
#include "store/table_prefetch.h"

#include <algorithm>
#include <utility>

#include "store/hash.h"

namespace recmigrate {
namespace {

// Rows read together: enough to keep a disk busy, and few, since who replaces or thins the rows waits for them.
constexpr std::size_t kTogether = 1024;

// Copies may take a quarter of memory's tier, and not much more than a large batch needs.
constexpr std::size_t kPart = 4;
constexpr std::size_t kMostCopies = std::size_t{1} << 20;

// Keys that may wait to be read, 32 MiB.
constexpr std::size_t kMostWaiting = std::size_t{1} << 22;

}  // namespace

void Table::prefetch(std::vector<std::int64_t> keys) {
  if (prefetches() && !keys.empty()) prefetcher_->add(std::move(keys));
}

std::size_t Table::most_copies() const noexcept { return std::min(tier_capacity(0) / kPart, kMostCopies); }

std::size_t Table::rows_held() const { return rows_in_memory() + state_->staged->size(); }

void Table::Prefetcher::add(std::vector<std::int64_t> keys) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_ + keys.size() > kMostWaiting) return;
    const std::size_t more = keys.size();
    requests_.push_back(std::move(keys));
    waiting_ += more;
  }
  go_on();
}

void Table::Prefetcher::go_on() noexcept {
  if (waiting_ == 0 || needing_ != 0 || closed_) return;
  try {
    sweeper::ask(*this, sweeper::Work::prefetch);
  } catch (...) {  // there is no thread: the batches read their rows themselves
  }
}

void Table::Prefetcher::close() noexcept {
  closed_ = true;
  sweeper::forget(*this, sweeper::Work::prefetch);
}

// Some rows, so that the thread goes round the tables that ask for it.
void Table::Prefetcher::tend() noexcept {
  try {
    if (closed_ || needing_ != 0 || !next() || !read_some()) return;
  } catch (...) {  // the batch that needs such a row is told what is wrong
    waiting_ -= keys_.size();
    keys_.clear();
  }
  go_on();
}

// Whether there is a request, with keys to look for.
bool Table::Prefetcher::next() {
  if (!keys_.empty() && done_ == keys_.size()) {
    waiting_ -= keys_.size();
    keys_.clear();
  }
  if (!keys_.empty()) return true;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (requests_.empty()) return false;
  keys_ = std::move(requests_.front());
  requests_.pop_front();
  done_ = 0;
  ++request_;
  return true;
}

// False when there is no room, which batches that use copies make, or when a batch has just come for its rows.
bool Table::Prefetcher::read_some() {
  bool crowded = false;
  {
    const ReadLock lock(table_.structure_);
    const std::size_t room = table_.state_->staged->room(table_.most_copies());
    if (room == 0) return false;
    const std::size_t before = done_;
    find_below(std::min(room, kTogether));
    if (needing_ != 0) {  // it may read the same rows
      done_ = before;
      return false;
    }
    if (!found_.empty()) read(found_.size());
    crowded = table_.rows_held() > table_.tier_capacity(0);
  }
  if (crowded && sweeper::threads() != 0) sweeper::ask(table_);
  return true;
}

// The next keys of the request whose rows lie below memory. `structure_` is held.
void Table::Prefetcher::find_below(std::size_t most) {
  found_.clear();
  while (done_ < keys_.size() && found_.size() < most) {
    const std::size_t part = shard_of(hash_key(keys_[done_]));
    const Shard& shard = *table_.state_->shards[part];
    const ReadLock lock(shard.mutex);
    for (; done_ < keys_.size() && found_.size() < most; ++done_) {
      const std::int64_t key = keys_[done_];
      const std::uint64_t hash = hash_key(key);
      if (shard_of(hash) != part) break;
      if (shard.index.find(hash, key) != kAbsent) continue;
      for (std::size_t t = 0; t < shard.lower.size(); ++t) {
        const Slot place = shard.lower[t].find(hash, key);
        if (place == kAbsent) continue;
        found_.push_back({key, t, place});
        break;
      }
    }
  }
}

// Copies the rows that were found. `structure_` is held: what is read stays good until they are copied.
void Table::Prefetcher::read(std::size_t count) {
  Staged& staged = *table_.state_->staged;
  std::vector<std::int64_t> keys;
  keys.reserve(count);
  for (const Found& one : found_) keys.push_back(one.key);
  std::vector<float*> rows(count);
  std::vector<std::int64_t> own;
  std::vector<Slot> places;
  std::vector<float*> to;
  own.reserve(count);
  places.reserve(count);
  to.reserve(count);
  staged.begin(keys.data(), count, request_, rows.data());
  try {
    for (std::size_t t = 0; t < table_.state_->lower.size(); ++t) {
      own.clear();
      places.clear();
      to.clear();
      for (std::size_t i = 0; i < count; ++i) {
        if (found_[i].tier != t || rows[i] == nullptr) continue;
        own.push_back(keys[i]);
        places.push_back(found_[i].place);
        to.push_back(rows[i]);
      }
      if (!own.empty()) table_.state_->lower[t]->get(own.data(), places.data(), own.size(), to.data());
    }
  } catch (...) {
    staged.end(keys.data(), rows.data(), count, false);
    throw;
  }
  staged.end(keys.data(), rows.data(), count, true);
}

Table::Needing::~Needing() {
  if (table_.state_->staged->size() != 0) table_.state_->staged->passed(used_);
  --table_.prefetcher_->needing_;
  table_.prefetcher_->go_on();
}

void Table::Needing::get(std::size_t tier, const std::int64_t* keys, const Slot* places, std::size_t count,
                         float* const* out) {
  Staged& staged = *table_.state_->staged;
  const LowerTier& below = *table_.state_->lower[tier];
  table_.found_[1 + tier] += count;
  if (staged.size() == 0) return below.get(keys, places, count, out);
  std::vector<std::size_t> absent;
  std::vector<std::size_t> coming;
  staged.take(keys, count, out, absent, coming);
  std::size_t late = 0;
  const auto read = [&] {
    std::vector<std::int64_t> own;
    std::vector<Slot> from;
    std::vector<float*> to;
    for (const std::size_t i : absent) {
      own.push_back(keys[i]);
      from.push_back(places[i]);
      to.push_back(out[i]);
    }
    late += own.size();
    if (!own.empty()) below.get(own.data(), from.data(), own.size(), to.data());
    absent.clear();
  };
  read();
  if (!coming.empty()) staged.await(keys, coming, out, absent);
  read();
  table_.prefetched_[1 + tier] += count - late;
  used_ = used_ || late < count;
}

}  // namespace recmigrate
