#include "store/lookup/batch.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "store/errors.h"
#include "store/hash.h"
#include "store/rows/address.h"

namespace recmigrate {
namespace {

constexpr std::size_t kSegment = 16384;  // ids per task of the sort

// Numbers the distinct keys of one part. Most parts repeat few keys often: the table of numbers, sparse enough that the
// first probe mostly hits, stays in the first-level cache.
class Numbering {
 public:
  Numbering() : known_(kSmallest / kSparse + 2), taken_(kSmallest / kSparse + 2) { resize(kSmallest); }

  // Makes the empty table fit for this many ids: that of few ids leaves the first-level cache to others.
  void expect(std::size_t count) noexcept { set_size(count * kSparse <= kTiny ? kTiny : kSmallest); }

  // numbers[i] = the number of keys[i] among the distinct keys; firsts[number] = positions[i] of the first such i. An
  // empty place refers to key 0, which is set to the key that is searched: the only branch is the rare collision of two
  // keys.
  void number(const std::int64_t* keys, const std::uint32_t* positions, std::size_t count, std::uint32_t* numbers,
              std::uint32_t* firsts) {
    for (std::size_t i = 0; i < count;) {
      i += number_while_room(keys + i, positions + i, count - i, numbers + i, firsts);
      if (i < count) grow();
    }
  }

  // The number of distinct keys so far, and the keys.
  [[nodiscard]] std::uint32_t distinct() const noexcept { return distinct_; }
  [[nodiscard]] const std::int64_t* keys() const noexcept { return &known_[1]; }

  void forget() {
    if (mask_ + 1 <= kSmallest) {
      for (std::uint32_t i = 1; i <= distinct_; ++i) places_[taken_[i]] = 0;
    } else {
      resize(kSmallest);
      known_.resize(kSmallest / kSparse + 2);
      taken_.resize(kSmallest / kSparse + 2);
    }
    distinct_ = 0;
  }

 private:
  static constexpr std::size_t kSmallest = 4096;
  static constexpr std::size_t kTiny = 512;
  static constexpr std::size_t kSparse = 4;

  std::size_t number_while_room(const std::int64_t* keys, const std::uint32_t* positions, std::size_t count,
                                std::uint32_t* numbers, std::uint32_t* firsts) noexcept {
    std::uint32_t* const places = places_.data();
    std::int64_t* const known = known_.data();
    std::uint32_t* const taken = taken_.data();
    const auto room = static_cast<std::uint32_t>(known_.size() - 2);
    std::uint32_t distinct = distinct_;
    std::size_t i = 0;
    for (; i < count && distinct < room; ++i) {
      const std::int64_t key = keys[i];
      known[0] = key;
      const std::size_t at = find(places, known, key);
      const std::uint32_t place = places[at];
      const bool fresh = place == 0;
      firsts[distinct] = positions[i];
      known[distinct + 1] = key;
      taken[distinct + 1] = static_cast<std::uint32_t>(at);
      places[at] = fresh ? distinct + 1 : place;
      numbers[i] = fresh ? distinct : place - 1;
      distinct += fresh ? 1 : 0;
    }
    distinct_ = distinct;
    return i;
  }

  // Multiplication distributes well enough here, because the keys of a part were selected by a better hash.
  [[nodiscard]] std::size_t find(const std::uint32_t* places, const std::int64_t* known,
                                 std::int64_t key) const noexcept {
    std::size_t at = static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15ULL >> shift_;
    while (known[places[at]] != key) at = (at + 1) & mask_;
    return at;
  }

  void grow() {
    const std::size_t places = 4 * (mask_ + 1);
    known_.resize(places / kSparse + 2);
    taken_.resize(places / kSparse + 2);
    resize(places);
    for (std::uint32_t i = 1; i <= distinct_; ++i) {
      known_[0] = known_[i];
      places_[find(places_.data(), known_.data(), known_[i])] = i;
    }
  }

  void resize(std::size_t places) {
    if (places_.size() < places) places_.resize(places);
    set_size(places);
    std::fill_n(places_.begin(), places, 0U);
  }

  void set_size(std::size_t places) noexcept {
    mask_ = places - 1;
    shift_ = static_cast<unsigned>(__builtin_clzll(places)) + 1;
  }

  std::vector<std::uint32_t> places_;  // number plus one; 0 is empty
  std::vector<std::int64_t> known_;    // the keys by number, and the searched key as number 0
  std::vector<std::uint32_t> taken_;   // their places
  std::uint32_t distinct_ = 0;
  std::size_t mask_ = 0;
  unsigned shift_ = 0;
};

// Never inlined: a shared library calls a function for each access to a thread-local variable, even in a loop.
__attribute__((noinline)) Numbering& numbering_of_thread() {
  static thread_local Numbering numbering;
  return numbering;
}

std::size_t checked(std::size_t count) {
  if (count >= 0xffffffffU) fail_limit("a batch holds at most 4294967294 ids, not " + std::to_string(count));
  return count;
}

void find_shards(const std::int64_t* ids, std::size_t count, IdKind kind, std::uint8_t* __restrict shards) noexcept {
  if (kind == IdKind::key) {
    for (std::size_t i = 0; i < count; ++i) shards[i] = static_cast<std::uint8_t>(shard_of_key(ids[i]));
  } else {
    for (std::size_t i = 0; i < count; ++i) shards[i] = static_cast<std::uint8_t>(address_shard(ids[i]));
  }
}

}  // namespace

std::size_t shard_of_id(std::int64_t id, IdKind kind) noexcept {
  return kind == IdKind::key ? shard_of_key(id) : address_shard(id);
}

Batch::Batch(IdKind kind, std::size_t count)
    : kind_(kind),
      count_(checked(count)),
      memory_(Scratch::bytes_of<std::int64_t>(count) + Scratch::bytes_of<float*>(count) +
              3 * Scratch::bytes_of<std::uint32_t>(count)),
      keys_(memory_.take<std::int64_t>(count)),
      rows_(memory_.take<float*>(count)),
      firsts_(memory_.take<std::uint32_t>(count)),
      positions_(memory_.take<std::uint32_t>(count)),
      numbers_(memory_.take<std::uint32_t>(count)) {}

Batch::Batch(const std::int64_t* ids, std::size_t count, IdKind kind, Division division) : Batch(kind, count) {
  static_assert(kShards <= 64, "a bit per shard");
  division == Division::few&& count <= kFew ? leave_undivided(ids) : sort(ids);
}

// All ids are part 0, in input order.
void Batch::leave_undivided(const std::int64_t* ids) {
  if (count_ == 0) return;
  std::uint8_t shards[kFew];
  find_shards(ids, count_, kind_, shards);
  for (std::size_t i = 0; i < count_; ++i) undivided_shards_ |= std::uint64_t{1} << shards[i];
  std::copy_n(ids, count_, keys_);
  std::iota(positions_, positions_ + count_, 0U);
  std::fill(begins_ + 1, begins_ + kShards + 1, static_cast<std::uint32_t>(count_));
  order_[parts_++] = 0;
}

Batch Batch::distinct_only() const {
  Batch result(kind_, distinct());
  result.stamp_ = stamp_;
  result.undivided_shards_ = undivided_shards_;
  std::uint32_t next = 0;
  for (std::size_t part = 0; part < kShards; ++part) {
    result.begins_[part] = next;
    result.distinct_[part] = distinct_[part];
    std::copy_n(&keys_[begins_[part]], distinct_[part], &result.keys_[next]);
    std::copy_n(&rows_[begins_[part]], distinct_[part], &result.rows_[next]);
    std::iota(&result.numbers_[next], &result.numbers_[next] + distinct_[part], 0U);
    next += distinct_[part];
  }
  result.begins_[kShards] = next;
  std::iota(result.positions_, result.positions_ + next, 0U);
  std::iota(result.firsts_, result.firsts_ + next, 0U);
  result.order_parts();
  return result;
}

std::size_t Batch::distinct() const noexcept { return std::accumulate(distinct_, distinct_ + kShards, std::size_t{0}); }

std::size_t Batch::first_repeated() const noexcept {
  std::size_t first = count_;
  for (std::size_t part = 0; part < kShards; ++part) {
    std::uint32_t next = 0;
    for (std::size_t i = begins_[part]; i < begins_[part + 1]; ++i) {
      if (numbers_[i] == next) {
        ++next;
      } else {
        first = std::min<std::size_t>(first, positions_[i]);
      }
    }
  }
  return first;
}

// A counting sort: every segment of the input counts its ids per shard, then writes them to its own places.
void Batch::sort(const std::int64_t* ids) {
  const std::size_t segments = std::max<std::size_t>(1, (count_ + kSegment - 1) / kSegment);
  const std::unique_ptr<std::uint8_t[]> shards(new std::uint8_t[count_]);
  std::vector<std::uint32_t> places(segments * kShards);
  parallel::ranges(count_, kSegment, [&](std::size_t begin, std::size_t end) {
    std::uint32_t counts[kShards] = {};
    find_shards(ids + begin, end - begin, kind_, &shards[begin]);
    for (std::size_t i = begin; i < end; ++i) ++counts[shards[i]];
    std::copy(counts, counts + kShards, &places[begin / kSegment * kShards]);
  });
  std::uint32_t next = 0;
  for (std::size_t part = 0; part < kShards; ++part) {
    begins_[part] = next;
    for (std::size_t s = 0; s < segments; ++s) next += std::exchange(places[s * kShards + part], next);
  }
  begins_[kShards] = next;
  order_parts();
  parallel::ranges(count_, kSegment, [&](std::size_t begin, std::size_t end) {
    std::uint32_t* const to = &places[begin / kSegment * kShards];
    std::uint32_t* const positions = positions_;
    std::int64_t* const keys = keys_;
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint32_t at = to[shards[i]]++;
      positions[at] = static_cast<std::uint32_t>(i);
      keys[at] = ids[i];
    }
  });
}

void Batch::order_parts() {
  for (std::size_t part = 0; part < kShards; ++part) {
    if (ids(part) != 0) order_[parts_++] = static_cast<std::uint8_t>(part);
  }
  std::sort(order_, order_ + parts_, [this](std::uint8_t a, std::uint8_t b) { return this->ids(a) > this->ids(b); });
}

void Batch::start_numbers(std::size_t count) {
  Numbering& numbering = numbering_of_thread();
  numbering.forget();  // what was left by a call that ran out of memory
  numbering.expect(count);
}

std::pair<const std::int64_t*, std::size_t> Batch::number(std::size_t part, std::size_t from, std::size_t some) {
  Numbering& numbering = numbering_of_thread();
  const std::uint32_t before = numbering.distinct();
  numbering.number(&keys_[from], &positions_[from], some, &numbers_[from], &firsts_[begins_[part]]);
  return {numbering.keys() + before, numbering.distinct() - before};
}

void Batch::end_numbers(std::size_t part) {
  Numbering& numbering = numbering_of_thread();
  distinct_[part] = numbering.distinct();
  std::copy_n(numbering.keys(), numbering.distinct(), &keys_[begins_[part]]);
  numbering.forget();
}

}  // namespace recmigrate
