// What a checkpoint reader may be given: bytes are turned into meta data, keys, values and slots, and imported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "store/errors.h"
#include "store/table.h"

namespace fuzz {

// Takes numbers off the front of some bytes; zeros follow the last byte.
class Source {
 public:
  Source(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  template <typename Number>
  Number take() {
    Number number{};
    const std::size_t some = size_ < sizeof number ? size_ : sizeof number;
    if (some != 0) std::memcpy(&number, data_, some);
    data_ += some;
    size_ -= some;
    return number;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

// Meta data near a valid one, or anything at all.
inline std::vector<std::int64_t> meta(Source& source, std::int64_t dim) {
  static constexpr std::int64_t kSlots[] = {0, 0, 1, 2};
  const auto kind = static_cast<std::int64_t>(source.take<std::uint8_t>() % 4);
  std::vector<std::int64_t> result = {source.take<std::uint8_t>() % 2 + 1, 7, dim, kSlots[kind], kind, 0, 0, 0, 0};
  result.resize(4 + source.take<std::uint8_t>() % 6);
  for (auto changes = source.take<std::uint8_t>() % 3; changes > 0; --changes) {
    const std::size_t at = source.take<std::uint8_t>() % result.size();
    result[at] = source.take<std::uint8_t>() % 2 == 0 ? source.take<std::int64_t>() : source.take<std::int8_t>();
  }
  return result;
}

struct Outcome {
  bool accepted = false;
  bool refused = false;
};

// Reads what the bytes say into a table that holds rows already, as the import op does. Whatever the bytes are, the
// table has the old rows or the new ones afterwards; throws only what the op turns into an error.
inline Outcome import_bytes(const std::uint8_t* data, std::size_t size) {
  constexpr std::int64_t kDim = 3;
  Source source(data, size);
  recmigrate::TableConfig config;
  config.name = "user";
  config.dim = kDim;
  config.initializer = "3:normal:0.0:1.0";
  recmigrate::Table table(config);
  const std::vector<std::int64_t> held = {1, 2, 3};
  const std::vector<float> held_values(held.size() * kDim, 0.5F);
  table.upsert(held.data(), held.size(), held_values.data());
  const std::vector<std::int64_t> entries = meta(source, kDim);
  std::vector<std::int64_t> keys(source.take<std::uint8_t>() % 64);
  const bool narrow = source.take<std::uint8_t>() % 2 == 0;
  for (std::int64_t& key : keys) key = narrow ? source.take<std::int8_t>() : source.take<std::int64_t>();
  Outcome outcome;
  try {
    const auto parsed = recmigrate::TableMeta::from_vector(entries.data(), entries.size(), "table 'user'");
    // The op compares the shapes of values and slots with these two numbers before it reads either.
    std::vector<float> values(keys.size() * kDim);
    std::vector<float> slots(keys.size() * kDim * recmigrate::slot_count(parsed.kind));
    for (float& value : values) value = source.take<float>();
    for (float& slot : slots) slot = source.take<float>();
    table.import_rows(parsed, keys.data(), keys.size(), values.data(), slots.data());
    outcome.accepted = table.size() == keys.size();
  } catch (const recmigrate::InvalidInput&) {
    outcome.refused = table.size() == held.size();
  }
  std::vector<float> read(keys.size() * kDim);
  table.lookup(keys.data(), keys.size(), read.data());
  table.lookup_or_insert(keys.data(), keys.size(), read.data());
  return outcome;
}

}  // namespace fuzz
