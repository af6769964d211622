// What a table does for those of its rows that lie on a device: their places, and copies of values and slots by column.
// Steps that a graph composes read and write columns, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/device/places.h"
#include "store/lookup/lookups.h"
#include "store/rows/row_store.h"
#include "store/tiers/tiers.h"
#include "store/updates/updates.h"

namespace recmigrate {

// Every key with a place has a row in the table, too, which is older if it was changed on the device. Column 0 is the
// value of a row, column 1 its first slot.
class RowsOnDevice : private Part {
 public:
  // Copies insert rows if needed. The others are steps, which skip keys that a step skips (see Updates::skips_absent).
  enum class Write { copy, set, add, sub };

  RowsOnDevice(RowStore& store, Tiers& tiers, Lookups& lookups, Updates& updates);

  // Throws InvalidInput if the table has no rows on a device.
  [[nodiscard]] Places& places();
  // out[count, dim] = a slot of rows with slots of this kind, or of what they begin as; one without them has `start`.
  void read_slot(const std::int64_t* keys, std::size_t count, const Update& update, std::size_t slot, float* out);
  // Writes a column of rows, of equal keys one after the other; slots of `update`.
  void write(const std::int64_t* keys, std::size_t count, const Update& update, std::size_t column, Write how,
             const float* values);
  // Where the rows to update are, as `Places::changed`. The table's rows get the slots of the update's rule. Throws
  // InvalidInput if they have those of another one.
  std::vector<std::int64_t> changed(const std::int64_t* keys, std::size_t count, const Update& update,
                                    std::int32_t* numbers, std::vector<std::int64_t>* rest);
  // Forgets places, if the table has any, after its rows were replaced or removed.
  void clear();

 private:
  std::unique_ptr<Places> places_;
  Tiers& tiers_;
  Lookups& lookups_;
  Updates& updates_;
};

}  // namespace recmigrate
