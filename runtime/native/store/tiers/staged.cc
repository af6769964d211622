#include "store/tiers/staged.h"

#include <cstring>

#include "store/hash.h"

namespace recmigrate {
namespace {

constexpr std::size_t kChunkShift = 10;
constexpr std::size_t kChunk = std::size_t{1} << kChunkShift;

// A copy is obsolete once copies of this many later requests were used: requests come in the order of their batches,
// except for threads that overtake each other and datasets that are read in turn.
constexpr std::uint64_t kLater = 64;
constexpr std::uint64_t kOften = 16;  // number of used requests between two searches for such copies

// Batches in a row that use no copy. Many, because one table may be looked up hundreds of times in a step.
constexpr std::uint32_t kIdle = 512;

}  // namespace

std::size_t Staged::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return index_.size();
}

std::size_t Staged::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return index_.bytes() + places_.capacity() * sizeof(Place) + free_.capacity() * sizeof(Slot) +
         chunks_.size() * kChunk * width_ * sizeof(float);
}

std::uint64_t Staged::unused() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return unused_;
}

std::uint64_t Staged::newest_used() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return newest_used_;
}

float* Staged::row(Slot slot) const noexcept { return &chunks_[slot >> kChunkShift][(slot & (kChunk - 1)) * width_]; }

std::size_t Staged::room(std::size_t most) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (index_.size() >= most && newest_used_ >= looked_at_ + kOften) {
    looked_at_ = newest_used_;
    if (newest_used_ > kLater) drop_before(newest_used_ - kLater);
  }
  return index_.size() >= most ? 0 : most - index_.size();
}

void Staged::begin(const std::int64_t* keys, std::size_t count, std::uint64_t request, float** rows) {
  const std::lock_guard<std::mutex> lock(mutex_);
  index_.reserve(index_.size() + count);
  while (free_.size() < count) {
    const std::size_t before = places_.size();
    places_.reserve(before + kChunk);
    free_.reserve(before + kChunk);
    chunks_.push_back(std::make_unique<float[]>(kChunk * width_));
    places_.resize(before + kChunk);
    for (std::size_t i = kChunk; i > 0; --i) free_.push_back(static_cast<Slot>(before + i - 1));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t hash = hash_key(keys[i]);
    rows[i] = nullptr;
    if (index_.find(hash, keys[i]) != kAbsent) continue;
    const Slot slot = free_.back();
    free_.pop_back();
    places_[slot] = {keys[i], request, State::reading};
    index_.insert(hash, keys[i], slot);
    rows[i] = row(slot);
  }
}

void Staged::end(const std::int64_t* keys, float* const* rows, std::size_t count, bool read) noexcept {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t i = 0; i < count; ++i) {
      if (rows[i] == nullptr) continue;
      const Slot slot = index_.find(hash_key(keys[i]), keys[i]);
      if (read) {
        places_[slot].state = State::ready;
      } else {
        release(slot);
      }
    }
  }
  ended_.notify_all();
}

void Staged::release(Slot slot) noexcept {
  index_.erase(hash_key(places_[slot].key), places_[slot].key);
  places_[slot].state = State::free;
  free_.push_back(slot);  // it has capacity for all
}

void Staged::use(Slot slot, float* out) noexcept {
  std::memcpy(out, row(slot), width_ * sizeof(float));
  if (places_[slot].request > newest_used_) newest_used_ = places_[slot].request;
  release(slot);
}

void Staged::take(const std::int64_t* keys, std::size_t count, float* const* out, std::vector<std::size_t>& absent,
                  std::vector<std::size_t>& coming) {
  absent.reserve(count);
  const std::lock_guard<std::mutex> lock(mutex_);
  const Line* places[kBlock];
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t some = count - at < kBlock ? count - at : kBlock;
    for (std::size_t i = 0; i < some; ++i) places[i] = index_.prefetch(hash_key(keys[at + i]));
    for (std::size_t i = 0; i < some; ++i) {
      const Slot slot = index_.find_from(places[i], keys[at + i]);
      if (slot == kAbsent) {
        absent.push_back(at + i);
      } else if (places_[slot].state == State::reading) {
        coming.push_back(at + i);
      } else {
        use(slot, out[at + i]);
      }
    }
  }
}

void Staged::await(const std::int64_t* keys, const std::vector<std::size_t>& coming, float* const* out,
                   std::vector<std::size_t>& absent) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (const std::size_t i : coming) {
    const std::uint64_t hash = hash_key(keys[i]);
    Slot slot = kAbsent;
    ended_.wait(lock, [&] {
      slot = index_.find(hash, keys[i]);
      return slot == kAbsent || places_[slot].state != State::reading;
    });
    if (slot == kAbsent) {
      absent.push_back(i);
    } else {
      use(slot, out[i]);
    }
  }
}

void Staged::passed(bool used) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_ = used || index_.size() == 0 ? 0 : idle_ + 1;
  if (idle_ < kIdle) return;
  idle_ = 0;
  drop_before(~std::uint64_t{0});
}

// Copies that are being read are kept.
void Staged::drop_before(std::uint64_t request) noexcept {
  for (Slot slot = 0; slot < places_.size(); ++slot) {
    if (places_[slot].state != State::ready || places_[slot].request >= request) continue;
    release(slot);
    ++unused_;
  }
  if (index_.size() == 0) free_memory();
}

void Staged::free_memory() noexcept {
  std::vector<std::unique_ptr<float[]>>().swap(chunks_);
  std::vector<Place>().swap(places_);
  std::vector<Slot>().swap(free_);
}

void Staged::forget(const std::int64_t* keys, std::size_t count) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (std::size_t i = 0; i < count && index_.size() != 0; ++i) {
    const Slot slot = index_.find(hash_key(keys[i]), keys[i]);
    if (slot == kAbsent) continue;
    release(slot);
    ++unused_;
  }
}

void Staged::restart(std::size_t width) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  drop_before(~std::uint64_t{0});
  free_memory();
  width_ = width;
}

}  // namespace recmigrate
