// Rows keep their place and content while a shard grows; cells are where the layout says; chunks start on cache lines.
#include "store/rows/rows.h"

#include <set>

#include "check.h"

namespace {

using recmigrate::Arena;
using recmigrate::Cell;
using recmigrate::RowLayout;
using recmigrate::Rows;
using recmigrate::Slot;

TEST(rows_never_move) {
  for (const std::size_t dim : {1, 3, 16, 144, 300000}) {
    const std::size_t count = dim > 1000 ? 5 : 70000 / dim;
    const RowLayout layout{dim, 2, 0};
    Arena arena(layout.chunk_bytes());
    Rows rows(layout, arena);
    std::vector<float*> places;
    for (Slot slot = 0; slot < count; ++slot) {
      rows.reserve(slot + 1);
      places.push_back(rows.row(slot));
      CHECK(places.back()[0] == 0.0F && places.back()[3 * dim - 1] == 0.0F);
      places.back()[0] = static_cast<float>(slot);
      places.back()[3 * dim - 1] = -static_cast<float>(slot);
    }
    for (Slot slot = 0; slot < count; ++slot) {
      CHECK(rows.row(slot) == places[slot]);
      CHECK(dim == 1 || places[slot][0] == static_cast<float>(slot));
      CHECK(places[slot][3 * dim - 1] == -static_cast<float>(slot));
    }
  }
}

TEST(the_first_rows_of_many_shards_share_pages) {
  const RowLayout layout{8, 1, 0};
  Arena arena(layout.chunk_bytes());
  std::vector<Rows> shards(64, Rows(layout, arena));
  std::set<std::uintptr_t> pages;
  for (Slot slot = 0; slot < 16; ++slot) {
    for (Rows& shard : shards) {
      shard.reserve(slot + 1);
      pages.insert(reinterpret_cast<std::uintptr_t>(shard.row(slot)) / 4096);
    }
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose heap puts each block where it likes
  CHECK(pages.size() <= 64 * 16 * layout.stride() * sizeof(float) / 4096 + 1);
#endif
}

TEST(rows_start_on_cache_lines) {
  const RowLayout layout{16, 0, 0};
  Arena arena(layout.chunk_bytes());
  Rows one(layout, arena);
  Rows two(layout, arena);
  one.reserve(30000);
  two.reserve(30000);
  for (Slot slot = 0; slot < 30000; slot += 999) {
    CHECK(reinterpret_cast<std::uintptr_t>(one.row(slot)) % 64 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(two.row(slot)) % 64 == 0);
  }
}

TEST(cells_lie_behind_the_slots_in_the_order_of_their_names) {
  const RowLayout layout{2, 1, RowLayout::bit(Cell::count) | RowLayout::bit(Cell::generation)};
  CHECK(layout.stride() == 6 && layout.cells() == 2 && layout.has(Cell::count) && !layout.has(Cell::version));
  std::vector<float> row(6, 1.0F);
  layout.write(row.data(), Cell::generation, 0xfffffff0U);
  layout.write(row.data(), Cell::count, 3);
  CHECK(layout.read(row.data(), Cell::generation) == 0xfffffff0U && layout.read(row.data(), Cell::count) == 3);
  CHECK(row[3] == 1.0F);
  const RowLayout wider{2, 2, layout.present | RowLayout::bit(Cell::last_step)};
  std::vector<float> other(wider.stride(), 7.0F);
  wider.copy_cells(other.data(), layout, row.data());
  CHECK(wider.read(other.data(), Cell::last_step) == 0 && wider.read(other.data(), Cell::count) == 3);
  CHECK(wider.read(other.data(), Cell::generation) == 0xfffffff0U && other[5] == 7.0F);
}

}  // namespace
