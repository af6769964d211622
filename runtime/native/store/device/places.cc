#include "store/device/places.h"

#include <algorithm>
#include <utility>

#include "store/errors.h"
#include "store/hash.h"
#include "store/parallel.h"

namespace recmigrate {
namespace {

constexpr std::size_t kGrain = 4096;  // keys of a task
constexpr std::size_t kAhead = 24;    // keys between the fetch of an index line and the search
constexpr std::int64_t kMissing = -2;

// Removes duplicates; the first of equal keys stays. Returns the number of each key among those that stay.
std::vector<std::uint32_t> remove_duplicates(std::vector<std::int64_t>& keys) {
  std::size_t size = 16;
  while (size < 2 * keys.size()) size *= 2;
  std::vector<std::uint32_t> table(size);  // one more than the number of a kept key
  std::vector<std::uint32_t> numbers;
  numbers.reserve(keys.size());
  std::size_t kept = 0;
  for (const std::int64_t key : keys) {
    std::size_t i = hash_key(key) & (size - 1);
    while (table[i] != 0 && keys[table[i] - 1] != key) i = (i + 1) & (size - 1);
    if (table[i] == 0) {
      keys[kept++] = key;
      table[i] = static_cast<std::uint32_t>(kept);
    }
    numbers.push_back(table[i] - 1);
  }
  keys.resize(kept);
  return numbers;
}

}  // namespace

Places::Places(std::string table, std::size_t capacity, bool by_uses, std::size_t steps)
    : table_(std::move(table)),
      steps_(steps),
      index_(capacity, by_uses),
      changed_(capacity),
      coming_(capacity),
      marks_(capacity),
      numbers_(capacity) {}

void Places::place(const std::int64_t* keys, std::size_t count, const bool* admitted, std::int64_t step,
                   std::int64_t* places, Moves& moves) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!came_) take_back();
  index_.tidy();
  begin_batch(step);
  std::vector<std::int64_t> missing = use_present(keys, count, admitted, places);
  const std::vector<std::uint32_t> numbers = remove_duplicates(missing);
  require_room(missing.size());
  moves = Moves();
  moves.ticket = batch_;
  moving_.clear();
  left_ = came_ = false;
  std::size_t level = 0;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (i + kAhead < missing.size()) index_.prefetch(missing[i + kAhead]);
    take(missing[i], level, moves);
  }
  for (std::size_t i = 0, next = 0; next < numbers.size(); ++i) {
    if (places[i] == kMissing) places[i] = moves.in_places[numbers[next++]];
  }
  recent_keys_.assign(keys, keys + count);
  recent_places_.assign(places, places + count);
}

// A step is over with its update, or when another run of the graph brings a batch.
void Places::begin_batch(std::int64_t step) {
  ++batch_;
  if (!over_ && step == step_) return;
  over_ = false;
  step_ = step;
  begins_.push_back(batch_);
  if (begins_.size() > steps_) begins_.erase(begins_.begin());
}

// Finds the keys; returns those that have no place, as they occur.
std::vector<std::int64_t> Places::use_present(const std::int64_t* keys, std::size_t count, const bool* admitted,
                                              std::int64_t* places) {
  std::vector<std::int64_t> missing;
  find_all(keys, count, places);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) index_.prefetch_place(places[i + kAhead]);
    const auto place = static_cast<std::int32_t>(places[i]);
    if (admitted != nullptr && !admitted[i]) {
      places[i] = PlaceIndex::kNowhere;
    } else if (place == PlaceIndex::kNowhere) {
      places[i] = kMissing;
      missing.push_back(keys[i]);
    } else if (index_.batch(place) != batch_) {
      index_.use(place, batch_);
      ++status_.found;
    }
  }
  return missing;
}

void Places::find_all(const std::int64_t* keys, std::size_t count, std::int64_t* places) const {
  parallel::ranges(count, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (i + kAhead < end) index_.prefetch(keys[i + kAhead]);
      places[i] = index_.find(keys[i]);
    }
  });
}

void Places::require_room(std::size_t missing) const {
  const std::size_t free = index_.capacity() - index_.size();
  if (missing <= free) return;
  const std::size_t more = index_.count_to_go(begins_.front(), missing - free);
  if (more >= missing - free) return;
  const std::size_t held = index_.size() - index_.count_to_go(begins_.front(), index_.size());
  fail_invalid("table '" + table_ + "' has room for " + std::to_string(index_.capacity()) +
               " rows on its device, but the batches of a step need " + std::to_string(held + missing) +
               ": raise its device_vocabulary_size, or train with smaller batches");
}

void Places::take(std::int64_t key, std::size_t& level, Moves& moves) {
  Move move{};
  move.in_key = key;
  if (index_.size() == index_.capacity()) {
    const std::int32_t gone = index_.first_to_go(begins_.front(), level);
    move.leaves = true;
    move.out_key = index_.key(gone);
    move.batch = index_.batch(gone);
    move.uses = index_.uses(gone);
    move.changed = changed_[at(gone)];
    if (move.changed) {
      moves.out_keys.push_back(move.out_key);
      moves.out_places.push_back(gone);
    }
    index_.remove(gone);
  }
  move.place = index_.put(key, batch_);
  changed_[at(move.place)] = false;
  coming_[at(move.place)] = true;
  moves.in_keys.push_back(key);
  moves.in_places.push_back(move.place);
  moving_.push_back(move);
}

// The step of the latest batch failed. Until its rows had left, they lie where they lay; afterwards their places are
// free.
void Places::take_back() noexcept {
  recent_keys_.clear();
  recent_places_.clear();
  for (auto move = moving_.rbegin(); move != moving_.rend(); ++move) {
    index_.remove(move->place);
    coming_[at(move->place)] = false;
  }
  for (auto move = moving_.rbegin(); move != moving_.rend() && !left_; ++move) {
    if (!move->leaves) continue;
    index_.put_back(move->out_key, move->place, move->batch, move->uses);
    changed_[at(move->place)] = move->changed;
  }
  moving_.clear();
  came_ = true;
}

void Places::moved(std::int64_t ticket, bool in) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ticket != batch_ || came_) {
    fail_invalid("table '" + table_ +
                 "' has rows on a device, and two training steps use them at the same time: run one after the other");
  }
  if (!in) {
    left_ = true;
    return;
  }
  came_ = true;
  for (const Move& move : moving_) {
    coming_[at(move.place)] = false;
    status_.written += move.leaves && move.changed ? 1 : 0;
  }
  status_.fetched += moving_.size();
  moving_.clear();
}

void Places::find(const std::int64_t* keys, std::size_t count, std::int64_t* places) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  find_all(keys, count, places);
  for (std::size_t i = 0; i < count; ++i) {
    if (places[i] != PlaceIndex::kNowhere && coming_[static_cast<std::size_t>(places[i])]) {
      places[i] = PlaceIndex::kNowhere;
    }
  }
}

std::vector<std::int64_t> Places::changed(const std::int64_t* keys, std::size_t count,
                                          const std::vector<std::int64_t>& fixed, std::int32_t* numbers,
                                          std::vector<std::int64_t>* rest) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::int64_t> distinct;
  ++mark_;
  if (!std::equal(keys, keys + count, recent_keys_.begin(), recent_keys_.end())) {
    recent_keys_.assign(keys, keys + count);
    recent_places_.resize(count);
    find_all(keys, count, recent_places_.data());
  }
  for (std::size_t i = 0; i < count; ++i) {
    numbers[i] = -1;
    if (!fixed.empty() && std::find(fixed.begin(), fixed.end(), keys[i]) != fixed.end()) continue;
    const auto place = static_cast<std::int32_t>(recent_places_[i]);
    if (place == PlaceIndex::kNowhere) {
      if (rest != nullptr) {
        rest->push_back(static_cast<std::int64_t>(i));
        continue;
      }
      fail_invalid("table '" + table_ + "' is to update key " + std::to_string(keys[i]) +
                   ", whose row is not on its device: look up in the same step what it trains");
    }
    if (marks_[at(place)] != mark_) {
      marks_[at(place)] = mark_;
      numbers_[at(place)] = static_cast<std::int32_t>(distinct.size());
      distinct.push_back(place);
    }
    numbers[i] = numbers_[at(place)];
  }
  for (const std::int64_t place : distinct) changed_[static_cast<std::size_t>(place)] = true;
  over_ = true;
  return distinct;
}

void Places::all(bool only_changed, std::vector<std::int64_t>& keys, std::vector<std::int64_t>& places) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t i = 0; i < index_.capacity(); ++i) {
    const auto place = static_cast<std::int32_t>(i);
    if (!index_.taken(place) || coming_[i] || (only_changed && !changed_[i])) continue;
    keys.push_back(index_.key(place));
    places.push_back(place);
  }
}

void Places::clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  index_.clear();
  std::fill(changed_.begin(), changed_.end(), false);
  std::fill(coming_.begin(), coming_.end(), false);
  moving_.clear();
  recent_keys_.clear();
  recent_places_.clear();
  left_ = came_ = over_ = true;
  begins_.clear();
}

PlacesStatus Places::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  PlacesStatus status = status_;
  status.capacity = index_.capacity();
  status.rows = index_.size();
  return status;
}

}  // namespace recmigrate
