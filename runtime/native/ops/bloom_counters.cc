#include "ops/bloom_counters.h"

#include <algorithm>
#include <vector>

#include "store/errors.h"
#include "store/hash.h"
#include "store/lookup/batch.h"
#include "store/notices.h"
#include "store/rows/shard.h"

namespace recmigrate::ops {
namespace {

constexpr std::size_t kIdentity = 7;  // numbers that identify the settings of filters

// The number of bytes of filters with these settings; more than possible if the settings are invalid.
std::uint64_t bytes_by(const std::int64_t* identity) noexcept {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const std::int64_t filters = identity[1];
  const std::int64_t cells = identity[3];
  const std::int64_t bits = identity[4];
  if (filters < 1 || filters > (1 << 16) || cells < 1 || cells > kMost || bits < 8 || bits > 64)
    return ~std::uint64_t{0};
  return static_cast<std::uint64_t>(filters) * static_cast<std::uint64_t>(cells) * static_cast<std::uint64_t>(bits / 8);
}

}  // namespace

BloomConfig bloom_attributes(TF_OpKernelConstruction* construction) {
  return {int_attribute(construction, "bloom_elements"),
          static_cast<double>(float_attribute(construction, "bloom_rate")), int_attribute(construction, "bloom_bits")};
}

void put_counters(TF_OpKernelContext* context, int first, const SeenKeys& seen) {
  const bool there = seen.tracked && seen.bloom.max_elements != 0;
  const std::vector<std::int64_t> identity = there ? seen.bloom.identity(kShards) : std::vector<std::int64_t>();
  const std::size_t bytes = there ? seen.counters.size() : 0;
  const TensorPtr what =
      allocate_output(context, first, TF_INT64, sizeof(std::int64_t), {static_cast<std::int64_t>(identity.size())});
  std::copy(identity.begin(), identity.end(), writable<std::int64_t>(what));
  const TensorPtr counters = allocate_output(context, first + 1, TF_UINT8, 1, {static_cast<std::int64_t>(bytes)});
  std::copy_n(seen.counters.begin(), bytes, writable<std::uint8_t>(counters));
}

void take_counters(TF_OpKernelContext* context, int first, const BloomConfig& config, const std::string& owner,
                   std::size_t waiting, SeenKeys& seen) {
  if (config.max_elements == 0) return;
  config.check(owner);
  const Input identities(context, first, "bloom_filters");
  const Input counters(context, first + 1, "bloom_counters");
  identities.require_rank(1);
  counters.require_rank(1);
  const auto torn = [&] {
    fail_invalid("the Bloom counters for " + owner + " are damaged; restore another checkpoint");
  };
  if (identities.elements() % kIdentity != 0) torn();
  std::vector<CountingBloom> filters(kShards, CountingBloom(config, kShards));
  const std::vector<std::int64_t> own = config.identity(kShards);
  bool others = false;
  std::size_t at = 0;
  for (std::size_t i = 0; i < identities.elements(); i += kIdentity) {
    const std::int64_t* const identity = identities.data<std::int64_t>() + i;
    const std::uint64_t bytes = bytes_by(identity);
    if (bytes > counters.elements() - at) torn();
    const bool alike = std::equal(own.begin(), own.end(), identity);
    others = others || !alike;
    for (std::size_t s = 0; alike && s < kShards; ++s) {
      filters[s].raise_counters(counters.data<std::uint8_t>() + at + s * filters[s].bytes());
    }
    at += static_cast<std::size_t>(bytes);
  }
  if (at != counters.elements()) torn();
  if (others) {
    notices::post("the checkpoint's Bloom filter of " + owner +
                  " has other settings; keys that wait for a row are counted from 0 again");
  }
  for (std::size_t i = waiting; i < seen.keys.size(); ++i) {
    const std::uint64_t hash = hash_key(seen.keys[i]);
    filters[shard_of(hash)].add(hash, seen.sightings[i].count);
  }
  seen.keys.resize(waiting);
  seen.sightings.resize(waiting);
  seen.bloom = config;
  seen.counters.clear();
  for (const CountingBloom& filter : filters) {
    seen.counters.insert(seen.counters.end(), filter.counters().begin(), filter.counters().end());
  }
}

}  // namespace recmigrate::ops
