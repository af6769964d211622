// The metadata in a checkpoint, which is checked entry by entry.
#include "store/snapshots/table_meta.h"

#include <cstdint>
#include <cstring>

#include "store/errors.h"
#include "store/updates/replayed.h"

namespace recmigrate {

std::vector<std::int64_t> TableMeta::to_vector() const {
  const bool decays = kind == OptimizerKind::keras_adamw;
  const bool divided = buckets != 0;
  const bool narrow = values != ValueType::float32;
  const std::int64_t version = divided                 ? kDivided
                               : narrow                ? kNarrow
                               : !steps.empty()        ? kReplayed
                               : decays || left == 1.0 ? kVersion
                                                       : kDecayed;
  std::vector<std::int64_t> meta = {version, seed, dim, static_cast<std::int64_t>(slot_count(kind)),
                                    static_cast<std::int64_t>(kind)};
  for (std::size_t s = 0; s < slot_count(kind); ++s) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &starts[s], sizeof bits);
    meta.push_back(bits);
  }
  if (divided) meta.insert(meta.end(), {buckets.count, buckets.first, buckets.beyond});
  if (version >= kNarrow) {
    meta.push_back(static_cast<std::int64_t>(values));
    meta.push_back(static_cast<std::int64_t>(updates));
  }
  if (decays || version != kVersion) {
    std::int64_t bits = 0;
    std::memcpy(&bits, &left, sizeof bits);
    meta.push_back(bits);
  }
  if (version >= kReplayed) {
    meta.push_back(static_cast<std::int64_t>(steps.size()));
    meta.insert(meta.end(), steps.begin(), steps.end());
  }
  seen.append_to(meta);
  return meta;
}

TableMeta TableMeta::from_vector(const std::int64_t* meta, std::size_t count, const std::string& owner) {
  const std::string prefix = "meta data for " + owner;
  if (count < 5) fail_invalid(prefix + " has " + std::to_string(count) + " entries; a snapshot has 5 or more");
  if (meta[0] < 1 || meta[0] > kDivided) {
    fail_invalid(prefix + " is of format " + std::to_string(meta[0]) +
                 "; this version of recmigrate reads formats 1 to 6");
  }
  const Rule& rule = rule_of(static_cast<OptimizerKind>(meta[4]));
  if (static_cast<std::int64_t>(rule.kind) != meta[4]) {
    fail_invalid(prefix + " names optimizer number " + std::to_string(meta[4]) +
                 ", which this version of recmigrate does not know: read it with the version that wrote it");
  }
  TableMeta result;
  result.seed = meta[1];
  result.dim = meta[2];
  result.kind = rule.kind;
  const std::size_t slots = slot_count(result.kind);
  if (meta[3] != static_cast<std::int64_t>(slots)) {
    fail_invalid(prefix + " has " + std::to_string(meta[3]) + " slots per row; optimizer " +
                 optimizer_name(result.kind) + " has " + std::to_string(slots));
  }
  // Version 1 had a single initial value for all slots, and left it out if it was zero.
  if (count - 5 < (meta[0] == 1 ? static_cast<std::size_t>(result.kind == OptimizerKind::adagrad) : slots)) {
    fail_invalid(prefix + " has " + std::to_string(count) + " entries; those after the fifth are what the slots of " +
                 optimizer_name(result.kind) + " start with, and some are missing");
  }
  for (std::size_t s = 0; s < slots; ++s) {
    const std::size_t at = 5 + (meta[0] == 1 ? 0 : s);
    const auto bits = static_cast<std::uint32_t>(at < count ? meta[at] : 0);
    std::memcpy(&result.starts[s], &bits, sizeof bits);
  }
  if (!all_finite(result.starts.data(), slots)) {
    fail_invalid(prefix + " lets a slot of " + optimizer_name(result.kind) + " start with a NaN or an infinity");
  }
  std::size_t at = 5 + slots;
  if (meta[0] == kDivided) {
    if (count < at + 3) fail_invalid(prefix + " does not say how ids were divided into buckets");
    result.buckets = {meta[at], meta[at + 1], meta[at + 2]};
    if (result.buckets.count < 1) fail_invalid(prefix + " divides ids by " + result.buckets.text());
    at += 3;
  }
  if (meta[0] >= kNarrow) {
    if (count < at + 2 || meta[at] < (meta[0] == kNarrow) || meta[at] > 2 || meta[at + 1] < 0) {
      fail_invalid(prefix + " does not say how values were stored, or how often they were rounded");
    }
    result.values = static_cast<ValueType>(meta[at]);
    result.updates = static_cast<std::uint64_t>(meta[at + 1]);
    at += 2;
  }
  if (meta[0] >= kDecayed || (meta[0] == kVersion && result.kind == OptimizerKind::keras_adamw)) {
    if (count <= at) fail_invalid(prefix + " does not say how much weight decay has reduced initial rows");
    std::memcpy(&result.left, &meta[at++], sizeof result.left);
    if (!(result.left >= 0.0 && result.left <= 1.0)) {
      fail_invalid(prefix + " says that weight decay left " + std::to_string(result.left) +
                   " of initial rows; it must be 0 to 1");
    }
  }
  if (meta[0] >= kReplayed) {
    const auto left_over = static_cast<std::int64_t>(count - at);
    const std::int64_t least = meta[0] == kReplayed ? 1 : 0;
    if (left_over < 1 || meta[at] < least || meta[at] > left_over - 1) {
      fail_invalid(prefix + " lacks the list of past steps that new rows need");
    }
    const auto entries = static_cast<std::size_t>(meta[at++]);
    result.steps.assign(meta + at, meta + at + entries);
    at += entries;
    if (entries != 0) static_cast<void>(Replayed::restored(result.kind, result.steps.data(), entries, prefix));
  }
  if (meta[0] != 1 && count > at) result.seen.read(meta + at, count - at, prefix);
  return result;
}

std::unique_ptr<Steps> TableMeta::replayed() const {
  return Replayed::restored(kind, steps.data(), steps.size(), "meta data");
}

}  // namespace recmigrate
