// Which rows changed between two snapshots.
#include "store/snapshots/increment.h"

#include <algorithm>
#include <map>
#include <random>

#include "check.h"
#include "fixtures.h"
#include "store/parallel.h"

namespace {

struct Moment {
  std::vector<std::int64_t> keys;
  std::vector<float> values;
  std::vector<float> slots;

  [[nodiscard]] std::vector<std::int64_t> fingerprints() const {
    std::vector<std::int64_t> result(keys.size());
    recmigrate::fingerprint_rows({keys.data(), values.data(), slots.data(), keys.size(), 3, 1}, result.data());
    return result;
  }
};

// Few keys and few values, so that rows of two moments are often equal or nearly so.
Moment random_moment(std::mt19937& random, std::size_t most) {
  std::map<std::int64_t, int> chosen;
  for (std::size_t i = random() % (most + 1); i > 0; --i)
    chosen[static_cast<std::int64_t>(random() % (most + 5)) - 3] = 1;
  Moment moment;
  for (const auto& [key, one] : chosen) moment.keys.push_back(key);
  std::shuffle(moment.keys.begin(), moment.keys.end(), random);
  for (std::size_t i = 0; i < moment.keys.size() * 3; ++i) moment.values.push_back(random() % 9 == 0 ? -0.0F : 0.0F);
  for (std::size_t i = 0; i < moment.keys.size(); ++i) moment.slots.push_back(random() % 9 == 0 ? 1.0F : 0.0F);
  return moment;
}

TEST(changes_are_those_that_a_map_of_rows_finds) {
  recmigrate::parallel::set_thread_count(3);
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    const std::size_t most = round % 20 == 0 ? 20000 : 12;
    const Moment before = random_moment(random, most);
    const Moment now = random_moment(random, most);
    const std::vector<std::int64_t> old_prints = before.fingerprints();
    const std::vector<std::int64_t> prints = now.fingerprints();
    const recmigrate::Changes got = recmigrate::find_changes(before.keys.data(), old_prints.data(), before.keys.size(),
                                                             now.keys.data(), prints.data(), now.keys.size());
    std::map<std::int64_t, std::string> rows;
    const auto row = [](const Moment& moment, std::size_t i) {
      return std::string(reinterpret_cast<const char*>(&moment.values[i * 3]), 3 * sizeof(float)) +
             std::string(reinterpret_cast<const char*>(&moment.slots[i]), sizeof(float));
    };
    for (std::size_t i = 0; i < before.keys.size(); ++i) rows[before.keys[i]] = row(before, i);
    std::vector<std::int64_t> changed;
    std::map<std::int64_t, int> present;
    for (std::size_t i = 0; i < now.keys.size(); ++i) {
      present[now.keys[i]] = 1;
      const auto found = rows.find(now.keys[i]);
      if (found == rows.end() || found->second != row(now, i)) changed.push_back(static_cast<std::int64_t>(i));
    }
    std::vector<std::int64_t> removed;
    for (const std::int64_t key : before.keys) {
      if (present.count(key) == 0) removed.push_back(key);
    }
    CHECK(got.changed == changed && got.removed == removed);
  }
}

TEST(a_row_that_differs_in_any_one_bit_has_another_fingerprint) {
  const Moment moment{{1}, {0.5F, -1.0F, 2.0F}, {3.0F}};
  const std::int64_t print = moment.fingerprints()[0];
  for (unsigned bit = 0; bit < 128; ++bit) {
    Moment other = moment;
    float& number = bit < 96 ? other.values[bit / 32] : other.slots[0];
    std::uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    bits ^= 1U << bit % 32;
    std::memcpy(&number, &bits, sizeof bits);
    CHECK(other.fingerprints()[0] != print);
  }
}

}  // namespace
