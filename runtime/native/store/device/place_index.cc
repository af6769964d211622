#include "store/device/place_index.h"

#include <algorithm>
#include <iterator>

#include "store/hash.h"

namespace recmigrate {
namespace {

constexpr std::size_t kAhead = 24;    // entries between the fetch of a node and its use
constexpr std::size_t kSmall = 4096;  // entries that are never too many

// At most half of the table is filled, so that a search ends soon.
std::size_t table_size(std::size_t capacity) noexcept {
  std::size_t size = 16;
  while (size < 2 * capacity) size *= 2;
  return size;
}

}  // namespace

PlaceIndex::PlaceIndex(std::size_t capacity, bool by_uses)
    : by_uses_(by_uses),
      nodes_(capacity),
      logs_(by_uses ? kMostUses + 1 : 1),
      table_(table_size(capacity)),
      mask_(table_.size() - 1) {
  free_.reserve(capacity);
  clear();
}

void PlaceIndex::clear() noexcept {
  std::fill(table_.begin(), table_.end(), Entry());
  for (Log& log : logs_) log = Log();
  noted_ = 0;
  std::fill(nodes_.begin(), nodes_.end(), Node());
  free_.clear();
  for (std::size_t place = capacity(); place-- > 0;) free_.push_back(static_cast<std::int32_t>(place));
}

std::size_t PlaceIndex::home(std::int64_t key) const noexcept { return hash_key(key) & mask_; }

std::int32_t PlaceIndex::find(std::int64_t key) const noexcept {
  for (std::size_t i = home(key);; i = (i + 1) & mask_) {
    const Entry& entry = table_[i];
    if (entry.place == kNowhere || entry.key == key) return entry.place;
  }
}

void PlaceIndex::insert_key(std::int64_t key, std::int32_t place) noexcept {
  std::size_t i = home(key);
  while (table_[i].place != kNowhere) i = (i + 1) & mask_;
  table_[i] = {key, place};
  node(place).key = key;
}

void PlaceIndex::note(std::int32_t place) {
  const Node& of = node(place);
  log_of(of).uses.push_back({of.batch, place});
  ++noted_;
}

std::int32_t PlaceIndex::put(std::int64_t key, std::int64_t batch) {
  const std::int32_t place = free_.back();
  free_.pop_back();
  insert_key(key, place);
  node(place).batch = batch;
  node(place).uses = 1;
  note(place);
  return place;
}

void PlaceIndex::put_back(std::int64_t key, std::int32_t place, std::int64_t batch, std::size_t uses) {
  free_.erase(std::next(std::find(free_.rbegin(), free_.rend(), place)).base());
  insert_key(key, place);
  node(place).batch = batch;
  node(place).uses = static_cast<std::uint16_t>(uses);
  Log& log = log_of(node(place));
  if (log.begin == 0) {
    log.uses.insert(log.uses.begin(), Use{batch, place});
    log.begin = 1;
  }
  log.uses[--log.begin] = {batch, place};
}

// Linear probing without marks of deletion: what follows the gap moves up if its home allows it.
void PlaceIndex::remove(std::int32_t place) noexcept {
  node(place).uses = 0;
  free_.push_back(place);
  std::size_t gap = home(node(place).key);
  while (table_[gap].place != place) gap = (gap + 1) & mask_;
  for (std::size_t i = (gap + 1) & mask_; table_[i].place != kNowhere; i = (i + 1) & mask_) {
    const std::size_t wanted = home(table_[i].key);
    if (((i - wanted) & mask_) < ((i - gap) & mask_)) continue;
    table_[gap] = table_[i];
    gap = i;
  }
  table_[gap] = Entry();
}

void PlaceIndex::use(std::int32_t place, std::int64_t batch) {
  node(place).batch = batch;
  node(place).uses = static_cast<std::uint16_t>(std::min<std::size_t>(node(place).uses + std::size_t{1}, kMostUses));
  note(place);
}

std::int32_t PlaceIndex::first_to_go(std::int64_t oldest, std::size_t& level) noexcept {
  // A log is in the order of last uses, so where its oldest key is needed, all of it are.
  for (; level < logs_.size(); ++level) {
    Log& log = logs_[level];
    for (; log.begin < log.uses.size(); ++log.begin) {
      if (log.begin + 2 * kAhead < log.uses.size()) prefetch_place(log.uses[log.begin + 2 * kAhead].place);
      if (log.begin + kAhead < log.uses.size()) prefetch(node(log.uses[log.begin + kAhead].place).key);
      const Use use = log.uses[log.begin];
      if (!holds(use, level)) continue;
      if (use.batch >= oldest) break;
      ++log.begin;
      return use.place;
    }
  }
  return kNowhere;
}

std::size_t PlaceIndex::count_to_go(std::int64_t oldest, std::size_t enough) const noexcept {
  std::size_t count = 0;
  for (std::size_t level = 0; level < logs_.size(); ++level) {
    const std::vector<Use>& uses = logs_[level].uses;
    for (std::size_t i = logs_[level].begin; i < uses.size() && uses[i].batch < oldest && count < enough; ++i) {
      if (i + kAhead < uses.size()) prefetch_place(uses[i + kAhead].place);
      count += holds(uses[i], level) ? 1 : 0;
    }
  }
  return count;
}

void PlaceIndex::tidy() noexcept {
  if (noted_ < 2 * capacity() + kSmall) return;
  noted_ = 0;
  for (std::size_t level = 0; level < logs_.size(); ++level) {
    Log& log = logs_[level];
    std::size_t kept = 0;
    for (std::size_t i = log.begin; i < log.uses.size(); ++i) {
      if (i + kAhead < log.uses.size()) prefetch_place(log.uses[i + kAhead].place);
      if (holds(log.uses[i], level)) log.uses[kept++] = log.uses[i];
    }
    log.uses.resize(kept);
    log.begin = 0;
    noted_ += kept;
  }
}

}  // namespace recmigrate
