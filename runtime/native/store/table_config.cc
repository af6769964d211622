// Parses the text of a table's configuration, checked entry by entry.
#include "store/table_config.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "store/errors.h"
#include "store/rows/base.h"

namespace recmigrate {
namespace {

constexpr std::int64_t kMostDeviceRows = 1'000'000'000;

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

// `count` or `count,first,beyond`.
Buckets buckets_option(const std::string& owner, const std::string& name, const std::string& value) {
  const std::vector<std::int64_t> numbers = keys_option(owner, name, value);
  if (numbers.size() == 1) return numbers[0];
  if (numbers.size() != 3) fail_invalid(owner + " has " + name + "=" + value + "; it must be one number or three");
  return {numbers[0], numbers[1], numbers[2]};
}

// `memory:1000,log` and the like: media with their sizes in bytes.
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

// A path with ';' and '%' encoded as %3B and %25.
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
    } else if (key == "values") {
      values = value_type_named(value, owner);
    } else if (key == "buckets") {
      buckets = buckets_option(owner, key, value);
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
    } else if (key == "device_rows") {
      device_rows = number_option(owner, key, value);
    } else if (key == "device_policy") {
      if (value != "lfu" && value != "lru") fail_invalid(owner + " has " + option + "; it must be lfu or lru");
      device_by_uses = value == "lfu";
    } else if (key == "device_steps") {
      device_steps = number_option(owner, key, value);
    } else if (key == "tier_segment") {
      tier_segment = number_option(owner, key, value);
    } else {
      fail_invalid(owner + " has the unknown option '" + option +
                   "'; known are max_bytes, when_full, values, buckets, expansion, padding_keys, "
                   "tiers, tier_folder, tier_library, tier_policy, tier_bytes, tier_segment, "
                   "device_rows, device_policy and device_steps");
    }
  }
}

void TableConfig::check() const {
  if (reserve < 0) {
    fail_invalid("table '" + name + "' reserves " + std::to_string(reserve) + " rows; it must be 0 or more");
  }
  if (evicts && !limited()) {
    fail_invalid("table '" + name + "' evicts rows when it is full but has no max_bytes; give it one");
  }
  if (values != ValueType::float32 && (expansion || device_rows != 0)) {
    fail_invalid("table '" + name + "' stores values in two bytes and has " +
                 (expansion ? "dynamic expansion" : "rows on a device") + ", which needs float32; use one of them");
  }
  check_buckets();
  if (device_rows != 0) check_device();
  if (tiered()) check_tiers();
}

void TableConfig::check_buckets() const {
  const std::string owner = "table '" + name + "' has base_buckets ";
  const auto fits = [](std::int64_t number) { return number >= 0 && number <= kMostBuckets; };
  if (!fits(buckets.count) || !fits(buckets.first) || !fits(buckets.beyond) || buckets.rows() > kMostBuckets) {
    fail_invalid(owner + "of " + std::to_string(buckets.count) + " from " + std::to_string(buckets.first) +
                 " on; they must be 1 to " + std::to_string(kMostBuckets) + " with the rows beside them");
  }
  // Else the key that is a bucket's number would be in another one.
  if (buckets.beyond != buckets.first && buckets.beyond < buckets.first + buckets.count) {
    fail_invalid(owner + "whose keys are divided into buckets from " + std::to_string(buckets.beyond) +
                 " on; it must be " + std::to_string(buckets.first) + ", or " +
                 std::to_string(buckets.first + buckets.count) + " or more");
  }
}

void TableConfig::check_device() const {
  const std::string owner = "table '" + name + "'";
  if (device_rows < 0 || device_rows > kMostDeviceRows) {
    fail_invalid(owner + " has " + std::to_string(device_rows) + " rows on a device; it must be 1 to " +
                 std::to_string(kMostDeviceRows));
  }
  if (device_steps < 1 || device_steps > 64) {
    fail_invalid(owner + " keeps the rows of " + std::to_string(device_steps) +
                 " steps on a device; it must be 1 to 64");
  }
  if (limited() || expansion) {
    fail_invalid(owner + " has rows on a device, and max_bytes or dynamic expansion; use one of them");
  }
}

void TableConfig::check_tiers() const {
  const std::string owner = "table '" + name + "'";
  if (tiers.size() < 2 || tiers.size() > 3 || tiers.front().medium != Medium::memory) {
    fail_invalid(owner + " has " + std::to_string(tiers.size()) + " tiers; it must be memory and one or two below it");
  }
  if (tiers.front().bytes == 0) fail_invalid(owner + " has no size for its memory tier; give it one in bytes");
  if (tiers.size() == 3 && (tiers[1].medium != Medium::mapped || tiers[2].medium == Medium::mapped)) {
    fail_invalid(owner + " has three tiers; they must be memory, mapped, and log or leveldb");
  }
  if (tiers.size() == 3 && tiers[1].bytes == 0) {
    fail_invalid(owner + " has three tiers and no size for the second; give it one in bytes");
  }
  if (tier_segment < 1 || tier_segment > (1 << 30)) {
    fail_invalid(owner + " writes " + std::to_string(tier_segment) + " bytes at once; it must be 1 to 1073741824");
  }
  if (limited()) fail_invalid(owner + " has tiers and max_bytes; give its tiers sizes instead");
  if (expansion) {
    fail_invalid(owner +
                 " has tiers and dynamic expansion, but rows that change tier have no fixed address; use one of them");
  }
}

}  // namespace recmigrate
