// Reads rows of lower tiers ahead: copies of them wait beside the rows in memory for the batch that needs them.
#include "store/tiers/prefetcher.h"

#include <algorithm>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"

namespace recmigrate {
namespace {

// Rows read together: enough to keep a disk busy, but few, because whoever replaces or thins the rows waits for them.
// Beside other programs, with 256 a share of 0.56 of the rows came in time, with 1024 0.86.
constexpr std::size_t kTogether = 1024;

// Copies may take a quarter of the memory tier, and not much more than a large batch needs.
constexpr std::size_t kPart = 4;
constexpr std::size_t kMostCopies = std::size_t{1} << 20;

// Keys that may wait to be read, 32 MiB.
constexpr std::size_t kMostWaiting = std::size_t{1} << 22;

// Requests that are searched again when rows move down; a dataset is rarely this many batches ahead.
constexpr std::size_t kMostKept = 16;

}  // namespace

std::size_t Tiers::most_copies() const noexcept { return std::min(capacity_of(0) / kPart, kMostCopies); }

void Tiers::Prefetcher::add(std::vector<std::int64_t> keys) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_ + keys.size() > kMostWaiting) return;
    const std::size_t more = keys.size();
    requests_.push_back(std::move(keys));
    waiting_ += more;
  }
  go_on();
}

void Tiers::Prefetcher::go_on() noexcept {
  if ((waiting_ == 0 && !again_) || needing_ != 0 || closed_) return;
  try {
    sweeper::ask(*this, sweeper::Work::prefetch);
  } catch (...) {  // no thread could be started: the batches read their rows themselves
  }
}

void Tiers::Prefetcher::search_again() noexcept {
  again_ = true;
  go_on();
}

void Tiers::Prefetcher::close() noexcept {
  closed_ = true;
  sweeper::forget(*this, sweeper::Work::prefetch);
}

// Reads a limited number of rows, so that the thread serves all tables in turn.
void Tiers::Prefetcher::tend() noexcept {
  try {
    if (!closed_ && needing_ == 0 && read_some()) go_on();
  } catch (...) {  // out of memory: it continues once a batch has its rows
  }
}

// Drops requests whose batch has come (known from the newest request whose copies were used), and requests about which
// nothing is known.
void Tiers::Prefetcher::forget_requests(std::uint64_t used) noexcept {
  while (!asked_.empty() && asked_.front().searched && (asked_.front().number <= used || asked_.size() > kMostKept)) {
    waiting_ -= asked_.front().keys.size() - asked_.front().done;
    asked_.pop_front();
  }
}

// The oldest request with keys to search; null if there is none.
Tiers::Prefetcher::Request* Tiers::Prefetcher::next() {
  if (again_.exchange(false)) {
    for (Request& one : asked_) {
      waiting_ += one.done;
      one.done = 0;
    }
  }
  for (Request& one : asked_) {
    if (one.done < one.keys.size()) return &one;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (requests_.empty()) return nullptr;
  asked_.push_back({taken_ + 1, std::move(requests_.front())});
  requests_.pop_front();
  ++taken_;
  return &asked_.back();
}

// False if there is nothing to search, if there is no space (batches that use copies free some), or if a batch has just
// come for its rows.
bool Tiers::Prefetcher::read_some() {
  bool crowded = false;
  {
    const ReadLock lock(tiers_.store_.structure());
    Staged& staged = *tiers_.state().staged;
    forget_requests(staged.newest_used());
    Request* const request = next();
    const std::size_t room = request == nullptr ? 0 : staged.room(tiers_.most_copies());
    if (room == 0) return false;
    const std::size_t before = request->done;
    find_below(*request, std::min(room, kTogether));
    if (needing_ != 0) {  // it may read the same rows
      request->done = before;
      return false;
    }
    waiting_ -= request->done - before;
    std::size_t copied = 0;
    try {
      if (!below_.empty()) copied = read(request->number, below_.size());
    } catch (const StorageFailed&) {  // the batch that needs such a row gets the error
      waiting_ -= request->keys.size() - request->done;
      request->done = request->keys.size();
    }
    request->searched = request->searched || request->done == request->keys.size();
    crowded = copied != 0 && tiers_.rows_held() > tiers_.capacity_of(0);
  }
  if (crowded && sweeper::threads() != 0) sweeper::ask(tiers_);
  return true;
}

// The next keys of the request with rows below memory. `structure` is held.
void Tiers::Prefetcher::find_below(Request& request, std::size_t most) {
  below_.clear();
  std::size_t& done = request.done;
  while (done < request.keys.size() && below_.size() < most) {
    const std::size_t part = shard_of(hash_key(request.keys[done]));
    const Shard& shard = *tiers_.state().shards[part];
    const ReadLock lock(shard.mutex);
    for (; done < request.keys.size() && below_.size() < most; ++done) {
      const std::int64_t key = request.keys[done];
      const std::uint64_t hash = hash_key(key);
      if (shard_of(hash) != part) break;
      if (shard.index.find(hash, key) != kAbsent) continue;
      for (std::size_t t = 0; t < shard.lower.size(); ++t) {
        const Slot place = shard.lower[t].find(hash, key);
        if (place == kAbsent) continue;
        below_.push_back({key, t, place});
        break;
      }
    }
  }
}

// Copies the found rows that have no copy yet; returns their number. `structure` is held: what is read stays valid
// until it is copied.
std::size_t Tiers::Prefetcher::read(std::uint64_t request, std::size_t count) {
  Staged& staged = *tiers_.state().staged;
  std::vector<std::int64_t> keys;
  keys.reserve(count);
  for (const RowBelow& one : below_) keys.push_back(one.key);
  std::vector<float*> rows(count);
  std::vector<std::int64_t> own;
  std::vector<Slot> places;
  std::vector<float*> to;
  own.reserve(count);
  places.reserve(count);
  to.reserve(count);
  staged.begin(keys.data(), count, request, rows.data());
  try {
    for (std::size_t t = 0; t < tiers_.state().lower.size(); ++t) {
      own.clear();
      places.clear();
      to.clear();
      for (std::size_t i = 0; i < count; ++i) {
        if (below_[i].tier != t || rows[i] == nullptr) continue;
        own.push_back(keys[i]);
        places.push_back(below_[i].place);
        to.push_back(rows[i]);
      }
      if (!own.empty()) tiers_.state().lower[t]->get(own.data(), places.data(), own.size(), to.data());
    }
  } catch (...) {
    staged.end(keys.data(), rows.data(), count, false);
    throw;
  }
  staged.end(keys.data(), rows.data(), count, true);
  return count - static_cast<std::size_t>(std::count(rows.begin(), rows.end(), nullptr));
}

Tiers::Needing::~Needing() {
  if (tiers_.state().staged->size() != 0) tiers_.state().staged->passed(used_);
  --tiers_.prefetcher_->needing_;
  tiers_.prefetcher_->go_on();
}

void Tiers::Needing::get(std::size_t tier, const std::int64_t* keys, const Slot* places, std::size_t count,
                         float* const* out) {
  Staged& staged = *tiers_.state().staged;
  const LowerTier& below = *tiers_.state().lower[tier];
  tiers_.hits_[1 + tier] += count;
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
  tiers_.prefetched_[1 + tier] += count - late;
  used_ = used_ || late < count;
}

}  // namespace recmigrate
