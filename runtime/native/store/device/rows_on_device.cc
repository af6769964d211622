#include "store/device/rows_on_device.h"

#include <algorithm>

#include "store/errors.h"
#include "store/rows/row.h"

namespace recmigrate {

RowsOnDevice::RowsOnDevice(RowStore& store, Tiers& tiers, Lookups& lookups, Updates& updates)
    : Part(store), tiers_(tiers), lookups_(lookups), updates_(updates) {
  if (config_.device_rows == 0) return;
  places_ = std::make_unique<Places>(name(), static_cast<std::size_t>(config_.device_rows), config_.device_by_uses,
                                     static_cast<std::size_t>(config_.device_steps));
}

Places& RowsOnDevice::places() {
  if (!places_) fail_invalid("table '" + name() + "' has no rows on a device; create it with `device`");
  return *places_;
}

void RowsOnDevice::read_slot(const std::int64_t* keys, std::size_t count, const Update& update, std::size_t slot,
                             float* out) {
  const ReadLock lock(store_.structure());
  const bool there = state().kind == update.kind && state().layout.slots > slot;
  store_.visit_rows(keys, count, [&](std::size_t i, const float* row) {
    float* const to = out + i * dim_;
    if (there && row != nullptr) {
      copy_row(to, row + (slot + 1) * dim_, dim_);
    } else {
      std::fill_n(to, dim_, update.starts[slot]);
    }
  });
}

void RowsOnDevice::write(const std::int64_t* keys, std::size_t count, const Update& update, std::size_t column,
                         const float* values) {
  const auto write_all = [&] {
    store_.write_rows(lookups_.resolve(keys, count),
                      [&](float* row, std::size_t from) { copy_row(row + column * dim_, values + from * dim_, dim_); });
  };
  tiers_.make_way();
  MemoryLimit::with_room([&] {
    if (column != 0) return updates_.with_slots(update, keys, count, write_all);
    const ReadLock lock(store_.structure());
    write_all();
  });
  tiers_.after_use();
}

std::vector<std::int64_t> RowsOnDevice::changed(const std::int64_t* keys, std::size_t count, const Update& update,
                                                std::int32_t* numbers, std::vector<std::int64_t>* rest) {
  updates_.with_slots(update, keys, count, [] {});
  return places().changed(keys, count, config_.padding_keys, numbers, rest);
}

void RowsOnDevice::clear() {
  if (places_) places_->clear();
}

}  // namespace recmigrate
