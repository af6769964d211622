#include "store/admission/seen.h"

#include <algorithm>
#include <cstring>

#include "store/errors.h"
#include "store/rows/shard.h"

namespace recmigrate {
namespace {

constexpr std::int64_t kMark = 0x6e656573;  // "seen"
constexpr std::size_t kHead = 3;
constexpr std::size_t kTail = 4;

std::int64_t packed(const Sighting& seen) noexcept {
  return static_cast<std::int64_t>(std::uint64_t{seen.count} << 32 | seen.last_seen);
}

Sighting unpacked(std::int64_t word) noexcept {
  const auto bits = static_cast<std::uint64_t>(word);
  return {static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)};
}

}  // namespace

void SeenKeys::add_rows(const std::int64_t* row_keys, const std::uint32_t* cells, std::size_t count) {
  const auto at = static_cast<std::size_t>(__builtin_popcount(layout.present & (RowLayout::bit(Cell::count) - 1)));
  keys.insert(keys.end(), row_keys, row_keys + count);
  sightings.reserve(sightings.size() + count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t* const row = cells + i * layout.cells() + at;
    sightings.push_back({row[0], row[1]});
  }
}

void SeenKeys::join(const SeenKeys& other) {
  if (!other.tracked) return;
  if (!tracked) {
    *this = other;
    return;
  }
  newest = std::max(newest, other.newest);
  keys.insert(keys.end(), other.keys.begin(), other.keys.end());
  sightings.insert(sightings.end(), other.sightings.begin(), other.sightings.end());
  if (threshold < 0 && !frozen) {
    threshold = other.threshold;
    frozen = other.frozen;
  }
  if (!(bloom == other.bloom) || counters.size() != other.counters.size() || counters.empty()) return;
  CountingBloom filter(bloom, kShards);
  for (std::size_t at = 0; at + filter.bytes() <= counters.size(); at += filter.bytes()) {
    filter.set_counters(counters.data() + at);
    filter.raise_counters(other.counters.data() + at);
    std::copy(filter.counters().begin(), filter.counters().end(), counters.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

void SeenKeys::keep_part(std::int64_t part, std::int64_t parts) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (((keys[i] % parts) + parts) % parts != part) continue;
    keys[kept] = keys[i];
    sightings[kept++] = sightings[i];
  }
  keys.resize(kept);
  sightings.resize(kept);
}

void SeenKeys::append_to(std::vector<std::int64_t>& meta) const {
  if (!tracked) return;
  meta.reserve(meta.size() + kHead + 2 * keys.size() + kTail + counters.size() / 8 + 1);
  meta.insert(meta.end(), {kMark, newest, static_cast<std::int64_t>(keys.size())});
  meta.insert(meta.end(), keys.begin(), keys.end());
  for (const Sighting& seen : sightings) meta.push_back(packed(seen));
  std::int64_t rate = 0;
  std::memcpy(&rate, &bloom.false_positive_rate, sizeof rate);
  meta.insert(meta.end(), {bloom.max_elements, rate, bloom.counter_bits, static_cast<std::int64_t>(counters.size())});
  const std::size_t begin = meta.size();
  meta.resize(begin + (counters.size() + 7) / 8);
  if (!counters.empty()) std::memcpy(&meta[begin], counters.data(), counters.size());
  if (threshold >= 0 || frozen) meta.insert(meta.end(), {threshold, frozen ? 1 : 0});
}

void SeenKeys::read(const std::int64_t* meta, std::size_t count, const std::string& prefix) {
  const auto torn = [&] { fail_invalid(prefix + " has damaged counters of keys; restore another checkpoint"); };
  if (meta[0] != kMark) return;  // entries of a later version
  if (count < kHead + kTail || meta[2] < 0 || static_cast<std::uint64_t>(meta[2]) > (count - kHead - kTail) / 2) torn();
  const auto known = static_cast<std::size_t>(meta[2]);
  const std::int64_t* const tail = meta + kHead + 2 * known;
  const std::size_t words = count - kHead - kTail - 2 * known;
  if (meta[1] < kNever || meta[1] > kLatestTime || tail[3] < 0 || static_cast<std::uint64_t>(tail[3]) > 8 * words)
    torn();
  tracked = true;
  newest = meta[1];
  keys.assign(meta + kHead, meta + kHead + known);
  sightings.clear();
  for (std::size_t i = 0; i < known; ++i) sightings.push_back(unpacked(meta[kHead + known + i]));
  std::memcpy(&bloom.false_positive_rate, &tail[1], sizeof bloom.false_positive_rate);
  bloom.max_elements = tail[0];
  bloom.counter_bits = tail[2];
  if (bloom.max_elements != 0) bloom.check(prefix);
  counters.resize(static_cast<std::size_t>(tail[3]));
  if (!counters.empty()) std::memcpy(counters.data(), tail + kTail, counters.size());
  const std::size_t used = (counters.size() + 7) / 8;
  if (words == used) return;
  const std::int64_t* const rules = tail + kTail + used;
  if (words - used != 2 || rules[0] < -1 || rules[0] > 0x7fffffff || rules[1] < 0 || rules[1] > 1) torn();
  threshold = rules[0];
  frozen = rules[1] != 0;
}

}  // namespace recmigrate
