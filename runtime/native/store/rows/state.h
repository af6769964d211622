// All state that `reset` and `import_rows` replace at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/admission/admission.h"
#include "store/admission/bloom.h"
#include "store/admission/seen.h"
#include "store/rows/base.h"
#include "store/rows/rows.h"
#include "store/rows/shard.h"
#include "store/tiers/lower_tier.h"
#include "store/tiers/staged.h"
#include "store/updates/optimizer.h"
#include "store/updates/steps.h"

namespace recmigrate {

// The rule of the latest update since the table was created, restored or reset, and its first hyperparameter, the
// learning rate; `none` before.
struct Trained {
  std::int32_t kind = 0;  // the number of an OptimizerKind; of 32 bits, so that the whole is written at once
  float rate = 0;
};

// The state of `Updates` about optimizers.
struct Training {
  bool restored = false;                 // and not trained since: the first update may have another rule
  std::vector<std::int64_t> optimizers;  // announced by `begin`, the current one last
  bool anew = false;                     // start slots afresh at the next update
  bool in_turn = false;                  // the current optimizer had other slots when it last updated
  std::atomic<Trained> latest{Trained{}};
};

// The state of `AdmissionControl`; the counters are in the shards.
struct Counting {
  BloomConfig bloom;
  std::atomic<std::int64_t> newest{kNever};  // time of any lookup
  std::atomic<std::int64_t> threshold{-1};   // replaces those of lookups if not negative
  std::atomic<bool> frozen{false};           // counting is stopped
};

// Up to so many rows are gathered in one shard.
inline constexpr std::size_t kGathered = 2048;
static_assert(kGathered < kWorthSplitting, "rows of one shard are filled in by one thread");

struct State {
  // With `gathered` rows, the first shard has those of all parts.
  State(const RowLayout& layout, std::int64_t seed_of_rows, bool gathered, const Buckets& buckets);

  // The shard with the keys of a part, whose number is the highest bits of their hashes.
  [[nodiscard]] Shard& of_part(std::size_t part) const noexcept { return *shards[part & mask]; }
  // The shards of some parts; both are bit sets.
  [[nodiscard]] std::uint64_t shards_of_parts(std::uint64_t parts) const noexcept {
    return mask != 0 ? parts : std::uint64_t{parts != 0};
  }
  [[nodiscard]] bool gathered() const noexcept { return mask == 0; }

  RowLayout layout;
  std::unique_ptr<Arena> arena;
  std::unique_ptr<DenseMemory> dense;
  std::vector<std::unique_ptr<Shard>> shards;  // kShards; all but the first are empty while rows are gathered
  std::size_t mask;                            // of parts: 0, or kShards - 1
  std::int64_t seed;
  Base base;
  const std::uint32_t filling;  // in its addresses
  OptimizerKind kind = OptimizerKind::none;
  SlotStarts starts{};
  std::unique_ptr<Steps> steps;           // if all rows move, from the first such update on
  double left = 1;                        // share of initial values when `steps` began
  std::atomic<std::uint64_t> updates{0};  // that rounded values
  std::atomic<bool> thinned{false};       // keys were evicted
  std::atomic<std::uint32_t> batches{0};  // number of stamped batches
  Training training;
  Counting counting;
  std::uint32_t lowered = 0;                      // the latest batch of which a row has been moved down since
  std::vector<std::unique_ptr<LowerTier>> lower;  // the tiers below memory, as the shards' indexes refer to them
  std::unique_ptr<Staged> staged;                 // copies of rows there, if there are such tiers
};

[[nodiscard]] std::vector<std::unique_ptr<Shard>> empty_shards(const RowLayout& layout, Arena& arena,
                                                               DenseMemory& dense, bool gathered);

// What counts towards a limit.
[[nodiscard]] std::size_t bytes_of(const State& state) noexcept;

}  // namespace recmigrate
