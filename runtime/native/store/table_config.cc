// What a table is made with and what its checkpoint says of it, as texts and numbers from outside: checked entry by
// entry.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "store/errors.h"
#include "store/table.h"

namespace recmigrate {
namespace {

std::int64_t number_option(const std::string& owner, const std::string& name, const std::string& value) {
  const bool digits =
      !value.empty() && value.size() <= 18 && value.find_first_not_of("0123456789") == std::string::npos;
  if (!digits) fail_invalid(owner + " has " + name + "=" + value + "; it must be a whole number, 0 or more");
  return std::stoll(value);
}

std::vector<std::int64_t> keys_option(const std::string& owner, const std::string& name, const std::string& value) {
  std::vector<std::int64_t> keys;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    char* parsed = nullptr;
    errno = 0;
    keys.push_back(std::strtoll(value.c_str() + begin, &parsed, 10));
    if (errno != 0 || end == begin || parsed != value.c_str() + end) {
      fail_invalid(owner + " has " + name + "=" + value + "; it must be whole numbers of 64 bits with commas between");
    }
    begin = end + 1;
  }
  return keys;
}

// `memory:1000,log` and the like: media with the bytes each may take.
std::vector<TierConfig> tiers_option(const std::string& owner, const std::string& text) {
  std::vector<TierConfig> tiers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string one = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t colon = std::min(one.find(':'), one.size());
    const std::string medium = one.substr(0, colon);
    TierConfig tier;
    if (medium == "mapped") {
      tier.medium = Medium::mapped;
    } else if (medium == "log") {
      tier.medium = Medium::log;
    } else if (medium == "leveldb") {
      tier.medium = Medium::leveldb;
    } else if (medium != "memory") {
      fail_invalid(owner + " has the tier '" + one +
                   "'; it must be memory, mapped, log or leveldb, each with :BYTES or without");
    }
    if (colon < one.size()) {
      tier.bytes =
          static_cast<std::uint64_t>(number_option(owner, "the size of its tier " + medium, one.substr(colon + 1)));
    }
    tiers.push_back(tier);
  }
  return tiers;
}

// A path in which ';' and '%' are written %3B and %25.
std::string path_option(const std::string& text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool coded = text[i] == '%' && i + 2 < text.size();
    path += coded ? (text.compare(i, 3, "%3B") == 0 ? ';' : '%') : text[i];
    if (coded) i += 2;
  }
  return path;
}

}  // namespace

void TableConfig::parse_options(const std::string& text) {
  const std::string owner = "table '" + name + "'";
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    const std::string option = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = std::min(option.find('='), option.size());
    const std::string key = option.substr(0, equals);
    const std::string value = option.substr(std::min(equals + 1, option.size()));
    if (key == "max_bytes") {
      max_bytes = number_option(owner, key, value);
    } else if (key == "when_full") {
      if (value != "error" && value != "evict") fail_invalid(owner + " has " + option + "; it must be error or evict");
      evicts = value == "evict";
    } else if (key == "expansion") {
      expansion = number_option(owner, key, value) != 0;
    } else if (key == "padding_keys") {
      padding_keys = keys_option(owner, key, value);
    } else if (key == "tiers") {
      tiers = tiers_option(owner, value);
    } else if (key == "tier_folder") {
      tier_folder = path_option(value);
    } else if (key == "tier_policy") {
      if (value != "lfu" && value != "lru") fail_invalid(owner + " has " + option + "; it must be lfu or lru");
      tier_by_uses = value == "lfu";
    } else if (key == "tier_bytes") {
      if (value != "all" && value != "values") fail_invalid(owner + " has " + option + "; it must be all or values");
      tier_counts_values = value == "values";
    } else if (key == "tier_library") {
      tier_library = path_option(value);
    } else if (key == "tier_segment") {
      tier_segment = number_option(owner, key, value);
    } else {
      fail_invalid(owner + " has the unknown option '" + option +
                   "'; known are max_bytes, when_full, expansion, padding_keys, "
                   "tiers, tier_folder, tier_library, tier_policy, tier_bytes and tier_segment");
    }
  }
}

TableMeta TableMeta::from_vector(const std::int64_t* meta, std::size_t count, const std::string& owner) {
  const std::string prefix = "meta data for " + owner;
  if (count < 5) fail_invalid(prefix + " has " + std::to_string(count) + " entries; a snapshot has 5 or more");
  if (meta[0] < 1 || meta[0] > kDecayed) {
    fail_invalid(prefix + " is of format " + std::to_string(meta[0]) + "; this engine reads formats 1 to 3");
  }
  const Rule& rule = rule_of(static_cast<OptimizerKind>(meta[4]));
  if (static_cast<std::int64_t>(rule.kind) != meta[4]) {
    fail_invalid(prefix + " names optimizer kind " + std::to_string(meta[4]) + ", which this engine does not know");
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
  // Version 1 had one start for all slots, and left it out where it was zero.
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
  if (meta[0] == kDecayed || (meta[0] == kVersion && result.kind == OptimizerKind::keras_adamw)) {
    if (count <= at) fail_invalid(prefix + " does not say what weight decay left of initial rows");
    std::memcpy(&result.left, &meta[at++], sizeof result.left);
    if (!(result.left >= 0.0 && result.left <= 1.0)) {
      fail_invalid(prefix + " says that weight decay left " + std::to_string(result.left) +
                   " of initial rows; it must be 0 to 1");
    }
  }
  if (meta[0] != 1 && count > at) result.seen.read(meta + at, count - at, prefix);
  return result;
}

}  // namespace recmigrate
