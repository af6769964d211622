#include "store/rows/index.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "store/errors.h"

namespace recmigrate {
namespace {

constexpr double kSmallest = 2;
constexpr double kGrowth = 1.35;
// Above this load, too many keys are placed behind their line; below it, right after growing, memory is wasted.
constexpr double kFullest = 0.84;

}  // namespace

Index::Index(double phase) : lines_(static_cast<std::size_t>(std::lround(kSmallest * std::pow(kGrowth, phase)))) {
  memory_ = allocate_region(lines_ * sizeof(Line));
}

std::size_t Index::lines_for(std::size_t rows) const noexcept {
  const double room = kFullest * kWays;
  if (static_cast<double>(rows) <= static_cast<double>(lines_) * room) return lines_;
  double lines = static_cast<double>(lines_) * kGrowth;
  while (lines * room < static_cast<double>(rows)) lines *= kGrowth;
  return static_cast<std::size_t>(lines) + 1;
}

void Index::reserve(std::size_t rows) {
  if (rows >= kAbsent) fail_limit("a shard of a table holds at most 4294967294 rows, not " + std::to_string(rows));
  const std::size_t wanted = lines_for(rows);
  if (wanted == lines_) return;
  Index larger(allocate_region(wanted * sizeof(Line)), wanted);
  for_each([&larger](std::int64_t key, Slot slot) { larger.insert(hash_key(key), key, slot); });
  *this = std::move(larger);
}

void Index::insert(std::uint64_t hash, std::int64_t key, Slot slot) noexcept {
  std::size_t at = home(hash);
  while (table()[at].used == kFull) {
    if (table()[at].passed != kManyPassed) ++table()[at].passed;
    at = after(at);
  }
  Line& line = table()[at];
  const int i = __builtin_ctz(~static_cast<unsigned>(line.used));
  line.keys[i] = key;
  line.slots[i] = slot;
  line.used = static_cast<std::uint8_t>(line.used | (1U << i));
  ++size_;
}

Slot Index::erase(std::uint64_t hash, std::int64_t key) noexcept {
  const std::size_t first = home(hash);
  std::size_t at = first;
  unsigned found = match(table()[at], key);
  while (found == 0) {
    if (is_last(table()[at])) return kAbsent;
    at = after(at);
    found = match(table()[at], key);
  }
  const Slot slot = table()[at].slots[__builtin_ctz(found)];
  unpass(first, at);
  --size_;
  // A key that moves back leaves a gap further on; the last gap is one that no key was placed behind.
  for (std::size_t gap = at;;) {
    Line& line = table()[gap];
    const std::size_t from = is_last(line) ? gap : key_behind(gap);
    if (from == gap) {
      line.used = static_cast<std::uint8_t>(line.used & ~found);
      return slot;
    }
    Line& giver = table()[from];
    const unsigned given = belongs_before(giver, from, gap);
    const int to = __builtin_ctz(found);
    line.keys[to] = giver.keys[__builtin_ctz(given)];
    line.slots[to] = giver.slots[__builtin_ctz(given)];
    unpass(gap, from);
    gap = from;
    found = given & (~given + 1);
  }
}

// Lines from `from` to before `to` have one key less placed behind them.
void Index::unpass(std::size_t from, std::size_t to) noexcept {
  for (; from != to; from = after(from)) {
    if (table()[from].passed != kManyPassed) --table()[from].passed;
  }
}

// The next line behind `gap` with a key of `gap` or an earlier line; `gap` if there is none.
std::size_t Index::key_behind(std::size_t gap) const noexcept {
  for (std::size_t at = after(gap); at != gap; at = after(at)) {
    if (belongs_before(table()[at], at, gap) != 0) return at;
    if (is_last(table()[at])) break;
  }
  return gap;
}

// The keys of line `at` that are at least as far behind their home line as behind `gap`, as a bit set.
unsigned Index::belongs_before(const Line& line, std::size_t at, std::size_t gap) const noexcept {
  unsigned keys = 0;
  for (unsigned used = line.used; used != 0; used &= used - 1) {
    const int i = __builtin_ctz(used);
    if (distance(home(hash_key(line.keys[i])), at) >= distance(gap, at)) keys |= 1U << i;
  }
  return keys;
}

}  // namespace recmigrate
