// The places of rows on a device, beside a model that is slow and plain.
#include "store/device/places.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "check.h"
#include "store/errors.h"

namespace {

using recmigrate::InvalidInput;
using recmigrate::Moves;
using recmigrate::Places;
using recmigrate::PlacesStatus;

using PlaceIds = std::vector<std::int64_t>;

// Which keys are there, by the number of batches that used them (0 if these do not count) and the last one; and what
// the device holds at each place.
struct PlaceModel {
  struct Use {
    std::int64_t uses;
    std::int64_t batch;
    std::int64_t order;
  };
  bool by_uses;
  std::size_t capacity;
  std::map<std::int64_t, Use> there;
  std::map<std::int64_t, std::int64_t> device;  // the key whose row lies at a place
  std::set<std::int64_t> changed;
  std::int64_t batch = 0;
  std::int64_t clock = 0;

  void use(std::int64_t key) {
    Use& use = there[key];
    if (use.batch == batch) return;
    use = {by_uses ? use.uses + 1 : 0, batch, ++clock};
  }
  std::int64_t victim() const {
    const Use* least = nullptr;
    std::int64_t found = -1;
    for (const auto& [key, use] : there) {
      if (use.batch == batch) continue;
      if (least != nullptr && std::pair(use.uses, use.order) >= std::pair(least->uses, least->order)) continue;
      least = &use;
      found = key;
    }
    return found;
  }
};

PlaceIds place_batch(std::mt19937& random, std::int64_t keys) {
  std::geometric_distribution<std::int64_t> often(0.05);
  PlaceIds ids(12);
  for (std::int64_t& id : ids) id = often(random) % keys - 5;
  return ids;
}

PlaceIds placed(Places& places, const PlaceIds& ids, std::int64_t step, Moves& moves) {
  PlaceIds at(ids.size());
  places.place(ids.data(), ids.size(), nullptr, step, at.data(), moves);
  return at;
}

void follow_model(bool by_uses) {
  constexpr std::size_t kCapacity = 16;
  Places places("user", kCapacity, by_uses, 1);
  PlaceModel model{by_uses, kCapacity, {}, {}, {}, 0, 0};
  std::mt19937 random(by_uses ? 1 : 2);
  for (std::int64_t step = 1; step <= 3000; ++step) {
    const PlaceIds ids = place_batch(random, 60);
    Moves moves;
    const PlaceIds at = placed(places, ids, step, moves);
    ++model.batch;
    PlaceIds missing;
    for (const std::int64_t id : ids) {
      if (model.there.count(id) != 0) {
        model.use(id);
      } else if (std::find(missing.begin(), missing.end(), id) == missing.end()) {
        missing.push_back(id);
      }
    }
    PlaceIds written;
    for (const std::int64_t id : missing) {
      if (model.there.size() == model.capacity) {
        const std::int64_t gone = model.victim();
        model.there.erase(gone);
        if (model.changed.erase(gone) != 0) written.push_back(gone);
      }
      model.use(id);
    }
    CHECK(moves.in_keys == missing);
    CHECK(moves.out_keys == written);
    for (std::size_t i = 0; i < written.size(); ++i) CHECK(model.device[moves.out_places[i]] == written[i]);
    places.moved(moves.ticket, false);
    for (std::size_t i = 0; i < missing.size(); ++i) model.device[moves.in_places[i]] = missing[i];
    places.moved(moves.ticket, true);
    for (std::size_t i = 0; i < ids.size(); ++i) CHECK(model.device[at[i]] == ids[i]);
    if (step % 3 == 0) continue;  // looked up alone
    std::vector<std::int32_t> numbers(ids.size());
    const PlaceIds distinct = places.changed(ids.data(), ids.size(), {-5}, numbers.data());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      CHECK((numbers[i] < 0) == (ids[i] == -5));
      if (numbers[i] >= 0) CHECK(distinct[static_cast<std::size_t>(numbers[i])] == at[i]);
      if (ids[i] != -5) model.changed.insert(ids[i]);
    }
  }
  PlaceIds keys;
  PlaceIds lying;
  places.all(true, keys, lying);
  CHECK(std::set<std::int64_t>(keys.begin(), keys.end()) == model.changed);
  CHECK(places.status().rows == kCapacity);
}

TEST(places_follow_a_model_by_uses) { follow_model(true); }

TEST(places_follow_a_model_by_last_use) { follow_model(false); }

TEST(a_step_that_failed_is_taken_back) {
  Places places("user", 3, false, 1);
  Moves moves;
  const PlaceIds first = placed(places, {1, 2, 3}, 1, moves);
  places.moved(moves.ticket, false);
  places.moved(moves.ticket, true);
  std::int32_t numbers[3];
  places.changed(PlaceIds({1, 2, 3}).data(), 3, {}, numbers);
  Moves failed;
  placed(places, {4, 5}, 2, failed);
  CHECK(failed.out_keys == PlaceIds({1, 2}));  // they were not written
  Moves next;
  CHECK(placed(places, {1, 2, 3}, 3, next) == first);
  CHECK(next.in_keys.empty());
  places.moved(next.ticket, false);
  places.moved(next.ticket, true);
  Moves written;
  placed(places, {6}, 4, written);
  CHECK(written.out_keys == PlaceIds({1}));  // changed before the failure
  places.moved(written.ticket, false);
  Moves last;
  placed(places, {1}, 5, last);  // 6 never came, and 1 has left
  CHECK(last.in_keys == PlaceIds({1}));
  CHECK(last.out_keys.empty());
  PlaceIds at(3);
  places.find(PlaceIds({1, 6, 2}).data(), 3, at.data());
  CHECK(at[0] == -1 && at[1] == -1 && at[2] != -1);  // 1 is still to come
  CHECK_THROWS(InvalidInput, places.moved(written.ticket, true), "two training steps use them at the same time");
}

TEST(rows_of_one_step_stay_together) {
  Places places("user", 4, true, 1);
  Moves moves;
  const auto look_up = [&](const PlaceIds& ids, std::int64_t step) {
    moves = Moves();
    placed(places, ids, step, moves);
    places.moved(moves.ticket, false);
    places.moved(moves.ticket, true);
  };
  look_up({1, 2}, 7);
  look_up({3, 4}, 7);
  CHECK_THROWS(InvalidInput, look_up({5}, 7),
               "table 'user' has room for 4 rows on its device, but the batches of a step need 5");
  look_up({5}, 8);
  CHECK(moves.in_keys == PlaceIds({5}));
}

TEST(keys_that_are_not_admitted_have_no_place) {
  Places places("user", 4, true, 1);
  const bool admitted[] = {true, false, true};
  const PlaceIds ids = {1, 2, 1};
  PlaceIds at(3);
  Moves moves;
  places.place(ids.data(), 3, admitted, 1, at.data(), moves);
  CHECK(moves.in_keys == PlaceIds({1}));
  CHECK(at[0] == at[2] && at[0] >= 0 && at[1] == -1);
}

}  // namespace
