#include "store/device/place_index.h"

#include <algorithm>
#include <iterator>

#include "store/hash.h"

namespace recmigrate {
namespace {

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
      ends_(kMostUses + 1),
      table_(table_size(capacity)),
      mask_(table_.size() - 1) {
  free_.reserve(capacity);
  clear();
}

void PlaceIndex::clear() noexcept {
  std::fill(table_.begin(), table_.end(), Entry());
  std::fill(ends_.begin(), ends_.end(), Ends());
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

std::int32_t PlaceIndex::put(std::int64_t key, std::int64_t batch) noexcept {
  const std::int32_t place = free_.back();
  free_.pop_back();
  insert_key(key, place);
  node(place).batch = batch;
  node(place).uses = 1;
  link(place, true);
  return place;
}

void PlaceIndex::put_back(std::int64_t key, std::int32_t place, std::int64_t batch, std::size_t uses) noexcept {
  free_.erase(std::next(std::find(free_.rbegin(), free_.rend(), place)).base());
  insert_key(key, place);
  node(place).batch = batch;
  node(place).uses = static_cast<std::uint16_t>(uses);
  link(place, false);
}

// Linear probing without marks of deletion: what follows the gap moves up if its home allows it.
void PlaceIndex::remove(std::int32_t place) noexcept {
  unlink(place);
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

void PlaceIndex::use(std::int32_t place, std::int64_t batch) noexcept {
  unlink(place);
  node(place).batch = batch;
  node(place).uses = static_cast<std::uint16_t>(std::min<std::size_t>(node(place).uses + std::size_t{1}, kMostUses));
  link(place, true);
}

std::int32_t PlaceIndex::first_to_go(std::int64_t oldest, std::size_t& level) const noexcept {
  // A list is in the order of last uses, so where its oldest key is needed, all of it are.
  for (; level < (by_uses_ ? ends_.size() : 1); ++level) {
    const std::int32_t place = ends_[level].oldest;
    if (place != kNowhere && node(place).batch < oldest) return place;
  }
  return kNowhere;
}

std::size_t PlaceIndex::count_to_go(std::int64_t oldest, std::size_t enough) const noexcept {
  std::size_t count = 0;
  for (const Ends& ends : ends_) {
    std::int32_t place = ends.oldest;
    for (; count < enough && place != kNowhere && node(place).batch < oldest; place = node(place).newer) ++count;
  }
  return count;
}

void PlaceIndex::link(std::int32_t place, bool as_newest) noexcept {
  Node& own = node(place);
  Ends& ends = ends_of(own);
  own.newer = as_newest ? kNowhere : ends.oldest;
  own.older = as_newest ? ends.newest : kNowhere;
  (own.newer == kNowhere ? ends.newest : node(own.newer).older) = place;
  (own.older == kNowhere ? ends.oldest : node(own.older).newer) = place;
}

void PlaceIndex::unlink(std::int32_t place) noexcept {
  const Node& own = node(place);
  Ends& ends = ends_of(own);
  (own.newer == kNowhere ? ends.newest : node(own.newer).older) = own.older;
  (own.older == kNowhere ? ends.oldest : node(own.older).newer) = own.newer;
}

}  // namespace recmigrate
