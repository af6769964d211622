// The slab: rows keep their place and content while it grows.
#include "store/slab.h"

#include "check.h"

namespace {

using recmigrate::Slab;
using recmigrate::Slot;

TEST(slab_rows_never_move) {
  for (const std::size_t dim : {1, 3, 16, 144, 300000}) {
    const std::size_t rows = dim > 1000 ? 5 : 70000 / dim;
    Slab slab(dim, 2);
    CHECK(slab.slot_width() == 2 * dim);
    std::vector<float*> places;
    for (Slot slot = 0; slot < rows; ++slot) {
      slab.reserve(slot + 1);
      places.push_back(slab.row(slot));
      places.back()[0] = static_cast<float>(slot);
      places.back()[3 * dim - 1] = -static_cast<float>(slot);
    }
    for (Slot slot = 0; slot < rows; ++slot) {
      CHECK(slab.row(slot) == places[slot]);
      CHECK(places[slot][0] == static_cast<float>(slot));
      CHECK(places[slot][3 * dim - 1] == -static_cast<float>(slot));
    }
  }
}

TEST(slab_chunks_start_on_cache_lines) {
  Slab slab(16, 0);
  slab.reserve(100000);
  for (Slot slot = 0; slot < 100000; slot += 999) CHECK(reinterpret_cast<std::uintptr_t>(slab.row(slot)) % 64 == 0);
}

}  // namespace
