#include "store/admission/admission.h"

#include <algorithm>
#include <utility>

#include "store/hash.h"

namespace recmigrate {

std::size_t Sightings::places_for(std::size_t more) const noexcept {
  if (4 * (size_ + more) <= 3 * entries_.size() || more == 0) return entries_.size();
  return std::max<std::size_t>(16, std::max(entries_.size() * 3 / 2, (size_ + more) * 3 / 2));
}

void Sightings::reserve(std::size_t more) {
  const std::size_t places = places_for(more);
  if (places == entries_.size()) return;
  Sightings larger;
  larger.entries_.resize(places);
  for_each([&larger](std::int64_t key, const Sighting& seen) { larger.put(hash_key(key), key, seen); });
  *this = std::move(larger);
}

void Sightings::thin(std::size_t more) {
  if (size_ + more <= most()) return;
  std::vector<std::pair<std::uint32_t, std::int64_t>> known;
  for_each([&known](std::int64_t key, const Sighting& seen) { known.emplace_back(seen.last_seen, key); });
  std::sort(known.begin(), known.end());
  known.resize(std::min(known.size(), size_ + more - most() + size_ / 20));
  for (const auto& one : known) erase(hash_key(one.second), one.second);
}

std::size_t Sightings::place(std::uint64_t hash, std::int64_t key) const noexcept {
  std::size_t at = home(hash);
  while (entries_[at].seen.count != 0 && entries_[at].key != key) at = after(at);
  return at;
}

Sighting Sightings::find(std::uint64_t hash, std::int64_t key) const noexcept {
  return entries_.empty() ? Sighting{} : entries_[place(hash, key)].seen;
}

void Sightings::put(std::uint64_t hash, std::int64_t key, const Sighting& seen) noexcept {
  Entry& entry = entries_[place(hash, key)];
  size_ += entry.seen.count == 0 ? 1 : 0;
  entry = {key, seen};
}

bool Sightings::erase(std::uint64_t hash, std::int64_t key) noexcept {
  if (entries_.empty()) return false;
  std::size_t hole = place(hash, key);
  if (entries_[hole].seen.count == 0) return false;
  // A key that was displaced past the hole moves into it, so that no search ends there too early.
  for (std::size_t at = after(hole); entries_[at].seen.count != 0; at = after(at)) {
    const std::size_t from = home(hash_key(entries_[at].key));
    const bool stays = hole <= at ? from > hole && from <= at : from > hole || from <= at;
    if (stays) continue;
    entries_[hole] = entries_[at];
    hole = at;
  }
  entries_[hole] = Entry();
  --size_;
  return true;
}

}  // namespace recmigrate
