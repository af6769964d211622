#include "store/rows/lines.h"

namespace recmigrate {

void Lines::insert(std::uint64_t hash, std::int64_t key, Slot slot) noexcept {
  std::size_t at = home(hash);
  while (lines()[at].used == Line::kFull) {
    if (lines()[at].passed != kManyPassed) ++lines()[at].passed;
    at = after(at);
  }
  Line& line = lines()[at];
  const int i = __builtin_ctz(~static_cast<unsigned>(line.used));
  line.keys[i] = key;
  line.slots[i] = slot;
  line.used = static_cast<std::uint8_t>(line.used | (1U << i));
  ++keys_;
}

Slot Lines::erase(std::uint64_t hash, std::int64_t key) noexcept {
  const std::size_t first = home(hash);
  std::size_t at = first;
  unsigned found = lines()[at].match(key);
  while (found == 0) {
    if (lines()[at].is_last()) return kAbsent;
    at = after(at);
    found = lines()[at].match(key);
  }
  const Slot slot = lines()[at].slots[__builtin_ctz(found)];
  unpass(first, at);
  --keys_;
  // A key that moves back leaves a gap further on; the last gap is one that no key was placed behind.
  for (std::size_t gap = at;;) {
    Line& line = lines()[gap];
    const std::size_t from = line.is_last() ? gap : key_behind(gap);
    if (from == gap) {
      line.used = static_cast<std::uint8_t>(line.used & ~found);
      return slot;
    }
    Line& giver = lines()[from];
    const unsigned given = belongs_before(giver, from, gap);
    const int to = __builtin_ctz(found);
    line.keys[to] = giver.keys[__builtin_ctz(given)];
    line.slots[to] = giver.slots[__builtin_ctz(given)];
    unpass(gap, from);
    gap = from;
    found = given & (~given + 1);
  }
}

// A stop is a line that no key was placed behind: there, every key before it has its home before it as well. Only keys
// that found no place up to the last line, and went on at the first, may lie before or behind it: these are copied
// last.
std::size_t Lines::copy_lines(std::size_t from, std::size_t least, Lines& to) const noexcept {
  const auto copy = [&to](std::int64_t key, Slot slot) { to.insert(hash_key(key), key, slot); };
  std::size_t at = from;
  for (bool stop = false; at < count_ && !stop; ++at) {
    visit_line(begin()[at], [&](std::int64_t key, Slot slot) {
      if (home(hash_key(key)) <= at) copy(key, slot);
    });
    stop = at - from + 1 >= least && begin()[at].is_last();
  }
  if (at == count_) for_each_wrapped(copy, count_);
  return at;
}

// Lines from `from` to before `to` have one key less placed behind them.
void Lines::unpass(std::size_t from, std::size_t to) noexcept {
  for (; from != to; from = after(from)) {
    if (lines()[from].passed != kManyPassed) --lines()[from].passed;
  }
}

// The next line behind `gap` with a key of `gap` or an earlier line; `gap` if there is none.
std::size_t Lines::key_behind(std::size_t gap) const noexcept {
  for (std::size_t at = after(gap); at != gap; at = after(at)) {
    if (belongs_before(begin()[at], at, gap) != 0) return at;
    if (begin()[at].is_last()) break;
  }
  return gap;
}

// The keys of line `at` that are at least as far behind their home line as behind `gap`, as a bit set.
unsigned Lines::belongs_before(const Line& line, std::size_t at, std::size_t gap) const noexcept {
  unsigned keys = 0;
  for (unsigned used = line.used; used != 0; used &= used - 1) {
    const int i = __builtin_ctz(used);
    if (distance(home(hash_key(line.keys[i])), at) >= distance(gap, at)) keys |= 1U << i;
  }
  return keys;
}

}  // namespace recmigrate
