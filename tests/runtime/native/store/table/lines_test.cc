// One array of an index: its keys are copied to another in pieces, each once, and only as many lines as asked.
#include "store/rows/lines.h"

#include <algorithm>
#include <map>

#include "check.h"

namespace {

using recmigrate::hash_key;
using recmigrate::Lines;
using recmigrate::Slot;

constexpr std::size_t kLines = 500;

Lines filled(std::size_t keys) {
  Lines lines(kLines);
  for (std::size_t key = 0; key < keys; ++key) {
    lines.insert(hash_key(static_cast<std::int64_t>(key)), static_cast<std::int64_t>(key), static_cast<Slot>(key));
  }
  return lines;
}

std::map<std::int64_t, Slot> contents(const Lines& lines, std::size_t from) {
  std::map<std::int64_t, Slot> found;
  lines.for_each_from(from, [&](std::int64_t key, Slot slot) { CHECK(found.emplace(key, slot).second); });
  return found;
}

TEST(lines_are_copied_in_pieces) {
  for (const std::size_t keys : {0, 10, 2000, 2250, 2495}) {
    const Lines from = filled(keys);
    Lines to(2 * kLines);
    std::size_t at = 0;
    for (std::size_t pieces = 0; at != from.count(); ++pieces) {
      const std::size_t next = from.copy_lines(at, 20, to);
      CHECK(next >= std::min(at + 20, kLines));
      CHECK(keys > 2300 || next <= at + 20 + 100);  // to where no key went on to the next line
      CHECK(pieces < kLines);
      at = next;
      std::map<std::int64_t, Slot> all = contents(to, 0);
      CHECK(all.size() == to.keys());
      all.merge(at == from.count() ? std::map<std::int64_t, Slot>() : contents(from, at));
      CHECK(all.size() == keys);
      for (const auto& [key, slot] : all) CHECK(key == static_cast<std::int64_t>(slot));
    }
  }
}

TEST(lines_tell_which_hash_is_the_first_of_a_line) {
  for (const std::size_t count : {1, 2, 3, 7, 500, 99991}) {
    const Lines lines(count);
    CHECK(lines.first_hash(0) == 0 && lines.first_hash(count) == std::uint64_t{1} << 32);
    for (std::size_t at = 1; at < count; at += 1 + at / 3) {
      CHECK(lines.home(lines.first_hash(at)) == at && lines.home(lines.first_hash(at) - 1) == at - 1);
    }
  }
}

}  // namespace
