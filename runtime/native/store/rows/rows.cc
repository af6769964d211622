#include "store/rows/rows.h"

namespace recmigrate {

unsigned RowLayout::chunk_shift() const noexcept {
  constexpr std::size_t kChunkBytes = std::size_t{256} << 10;
  unsigned shift = 0;
  while ((stride() * sizeof(float)) << (shift + 1) <= kChunkBytes) ++shift;
  return shift;
}

void RowLayout::copy_cells(float* row, const RowLayout& from, const float* old) const noexcept {
  for (const Cell cell : {Cell::last_step, Cell::count, Cell::last_seen, Cell::version, Cell::generation, Cell::used,
                          Cell::uses, Cell::key_low, Cell::key_high}) {
    if (has(cell)) write(row, cell, from.has(cell) ? from.read(old, cell) : 0);
  }
}

}  // namespace recmigrate
