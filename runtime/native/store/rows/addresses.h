// Rows by address: lookups that return addresses, and reads and updates by address.
#pragma once

#include <cstddef>
#include <cstdint>

#include "store/lookup/batch.h"
#include "store/lookup/lookups.h"
#include "store/rows/memory_limit.h"
#include "store/rows/row_store.h"
#include "store/updates/updates.h"

namespace recmigrate {

// Where to write the distinct keys of a batch: rows [n, dim] and addresses [n], and for each id the number of its key.
struct Expansion {
  float* rows;
  std::int64_t* addresses;
  std::int64_t* numbers;
};

class Addresses : private Part {
 public:
  Addresses(RowStore& store, Lookups& lookups, Updates& updates) noexcept
      : Part(store), lookups_(lookups), updates_(updates) {}

  void addresses(const std::int64_t* keys, std::size_t count, std::int64_t* out);
  template <typename Sink>
  void expand(const std::int64_t* keys, std::size_t count, Sink&& sink);
  void lookup_at(const std::int64_t* addresses, std::size_t count, float* out) const;
  void apply_at(const std::int64_t* addresses, std::size_t count, const float* grads, const Update& update);

 private:
  void require_addresses() const;
  [[nodiscard]] float* row_at(std::int64_t address) const noexcept;
  void find_addresses(Batch& batch, std::size_t part) const;
  void require_rows(const Batch& batch, const std::int64_t* addresses) const;
  void begin_expansion(const Batch& batch, std::size_t* begins) const;
  void expand_part(const Batch& batch, std::size_t part, std::size_t begin, const Expansion& to) const;

  Lookups& lookups_;
  Updates& updates_;
};

template <typename Sink>
void Addresses::expand(const std::int64_t* keys, std::size_t count, Sink&& sink) {
  require_addresses();
  MemoryLimit::with_room([&] {
    const ReadLock lock(store_.structure());
    const Batch batch = lookups_.resolve(keys, count);
    const Expansion to = sink(batch.distinct());
    std::size_t begins[kShards];
    begin_expansion(batch, begins);
    const StepsGuard steps(store_);
    batch.for_each_part([&](std::size_t part) { expand_part(batch, part, begins[part], to); });
  });
}

}  // namespace recmigrate
