#include "store/rows/state.h"

#include <atomic>
#include <cstddef>
#include <memory>

#include "store/hash.h"
#include "store/lookup/batch.h"
#include "store/rows/address.h"

namespace recmigrate {
namespace {

// Numbers the fillings of all tables of the process, so that their addresses differ.
std::uint32_t next_filling() noexcept {
  static std::atomic<std::uint32_t> fillings{0};
  return ++fillings % kFillings;
}

}  // namespace

std::vector<std::unique_ptr<Shard>> empty_shards(const RowLayout& layout, Arena& arena, DenseMemory& dense,
                                                 bool gathered) {
  std::vector<std::unique_ptr<Shard>> shards;
  shards.reserve(kShards);
  for (std::size_t s = 0; s < kShards; ++s) {
    shards.push_back(std::make_unique<Shard>(s, layout, arena, dense, s == 0 && gathered));
  }
  return shards;
}

State::State(const RowLayout& rows, std::int64_t seed_of_rows, bool gathered, const Buckets& buckets)
    : layout(rows),
      arena(std::make_unique<Arena>(rows.chunk_bytes())),
      dense(std::make_unique<DenseMemory>()),
      shards(empty_shards(rows, *arena, *dense, gathered)),
      mask(gathered ? 0 : kShards - 1),
      seed(seed_of_rows),
      base(buckets, rows.stride()),
      filling(next_filling()) {}

std::size_t bytes_of(const State& state) noexcept {
  std::size_t total = state.base.bytes();
  for (const auto& shard : state.shards) total += shard->bytes(state.layout);
  return total;
}

}  // namespace recmigrate
