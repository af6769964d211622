#include "store/device/rows_on_device.h"

#include <algorithm>

#include "store/errors.h"
#include "store/rows/row.h"
#include "store/updates/slot_sets.h"

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
  const std::size_t before = slots_before(state().kind, update);
  const bool there = before != kNoSet && state().layout.slots > before + slot;
  const std::size_t at = there ? state().layout.slots_at() + (before + slot) * dim_ : 0;
  store_.visit_rows(keys, count, [&](std::size_t i, const float* row) {
    float* const to = out + i * dim_;
    const Base& base = state().base;
    if (row == nullptr && !base.empty()) row = base.row(base.bucket(keys[i]));
    if (there && row != nullptr) {
      copy_row(to, row + at, dim_);
    } else {
      std::fill_n(to, dim_, update.starts[slot]);
    }
  });
}

void RowsOnDevice::write(const std::int64_t* keys, std::size_t count, const Update& update, std::size_t column,
                         Write how, const float* values) {
  const bool insert = how == Write::copy || !updates_.skips_absent();
  const auto write_all = [&] {
    const RowLayout& layout = state().layout;
    const std::size_t at =
        column == 0 ? 0 : layout.slots_at() + (slots_before(state().kind, update) + column - 1) * dim_;
    const bool narrow = column == 0 && layout.narrow();
    const auto change = [&](float* to, const float* from) {
      for (std::size_t i = 0; i < dim_; ++i) {
        to[i] = how == Write::add ? to[i] + from[i] : how == Write::sub ? to[i] - from[i] : from[i];
      }
    };
    const auto write_row = [&](float* row, std::size_t number) {
      if (!narrow) return change(row + at, values + number * dim_);
      std::vector<float> wide(dim_);
      layout.read_value(row, wide.data());
      change(wide.data(), values + number * dim_);
      layout.write_value(row, wide.data());
    };
    store_.write_rows(lookups_.resolve(keys, count, insert), write_row);
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
