// De-duplication of a batch: distinct keys, first positions and sums, for any number of threads.
#include "store/grouping.h"

#include <algorithm>
#include <map>
#include <random>

#include "check.h"
#include "store/parallel.h"

namespace {

using recmigrate::Group;

struct Expected {
  std::uint32_t first;
  float sum;
};

TEST(groups_equal_a_map_for_any_thread_count) {
  std::mt19937_64 random(5);
  for (const std::size_t count : {0, 1, 100, 4096, 4097, 30000}) {
    std::vector<std::int64_t> keys(count);
    std::vector<float> grads(count);
    std::map<std::int64_t, Expected> oracle;
    for (std::size_t i = 0; i < count; ++i) {
      keys[i] = static_cast<std::int64_t>(random() % 7 == 0 ? random() % 40000 : random() % 50) - 25;
      grads[i] = static_cast<float>(random() % 1000) * 0.001F;
      const auto [at, fresh] = oracle.try_emplace(keys[i], Expected{static_cast<std::uint32_t>(i), grads[i]});
      if (!fresh) at->second.sum += grads[i];
    }
    for (const std::size_t threads : {1, 2, 3, 8}) {
      recmigrate::parallel::set_thread_count(threads);
      std::size_t seen = 0;
      std::vector<int> mentions(count);
      for (const Group& group : recmigrate::group_by_key(keys.data(), count, grads.data(), 1)) {
        for (std::size_t i = 0; i < group.keys.size(); ++i, ++seen) {
          const Expected& wanted = oracle.at(group.keys[i]);
          CHECK(group.first[i] == wanted.first && group.sums[i] == wanted.sum);
          CHECK(i == 0 || group.first[i] > group.first[i - 1]);
        }
        for (std::size_t i = 0; i < group.ids; ++i) {
          CHECK(keys[group.positions[i]] == group.keys[group.numbers[i]]);
          CHECK(i == 0 || group.positions[i] > group.positions[i - 1]);
          ++mentions[group.positions[i]];
        }
      }
      CHECK(std::count(mentions.begin(), mentions.end(), 1) == static_cast<std::ptrdiff_t>(count));
      CHECK(seen == oracle.size());
    }
  }
}

}  // namespace
