// A tier below the table's rows in memory: where rows go that were not used for long, and come back from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/rows/index.h"

namespace recmigrate {

// What a tier is made of.
enum class Medium { memory, mapped, log, leveldb };

// What a tier has done since it was made, and holds now.
struct TierUse {
  std::uint64_t rows = 0;          // that can be read
  std::uint64_t medium_bytes = 0;  // taken on the medium, dead records included
  std::uint64_t memory_bytes = 0;  // of the tier itself: buffers and lists
  std::uint64_t read_rows = 0;
  std::uint64_t written_rows = 0;  // to the medium; those that compaction moved are among them
  std::uint64_t compactions = 0;
  std::uint64_t moved_rows = 0;
};

// A row that `oldest_segment` found.
struct StoredRows {
  std::vector<std::int64_t> keys;
  std::vector<Slot> places;
  std::vector<float> rows;
};

// Keeps rows of one width by place; who has which place is the table's index. A place can be read until `settle`, even
// when it was dropped. `get` and `drop` may be called by many threads at once, the others by one thread beside them.
class LowerTier {
 public:
  virtual ~LowerTier() = default;

  // places[i] = where rows[i] is kept from now on. Throws LimitReached, StorageFull or
  // StorageFailed, and then nothing has changed.
  virtual void put(const std::int64_t* keys, const float* const* rows, std::size_t count, Slot* places) = 0;
  // out[i] = where the row at places[i], which is that of keys[i], is to go. Throws StorageFailed that names the key of
  // a row that is damaged or cannot be read.
  virtual void get(const std::int64_t* keys, const Slot* places, std::size_t count, float* const* out) const = 0;
  // These places are not needed any more.
  virtual void drop(const std::int64_t* keys, const Slot* places, std::size_t count) noexcept = 0;
  // Nobody reads: dropped places are used again from now on.
  virtual void settle() noexcept = 0;
  // What `put` kept in memory goes to the medium. Throws StorageFailed; what was not written stays in memory.
  virtual void flush() = 0;
  // The rows of the part of the tier that is worth writing anew most, dead ones among them; false when none is. The
  // caller puts those that live anew, drops the places, and settles. `scarce`: space is needed, so less is worth it.
  [[nodiscard]] virtual bool worth_moving(StoredRows& /*found*/, bool /*scarce*/) { return false; }
  // The row at a place where the medium is memory, else null. It is not checked, and may be that of another key when
  // the place was dropped and settled. Not beside `put`.
  [[nodiscard]] virtual const float* in_place(Slot /*place*/) const noexcept { return nullptr; }
  [[nodiscard]] virtual TierUse use() const = 0;
};

// `width` floats a row; `capacity` bytes of the medium, 0 for no limit; about `segment` bytes are written at once.
// `library` is where the library of the medium may lie besides where the system has it.
struct TierPlace {
  std::string folder;
  std::string owner;
  std::size_t width;
  std::uint64_t capacity;
  std::size_t segment;
  std::string library;
};
// Throws StorageFailed or InvalidInput that name the owner.
[[nodiscard]] std::unique_ptr<LowerTier> make_tier(Medium medium, const TierPlace& place);
[[nodiscard]] std::unique_ptr<LowerTier> make_mapped(const TierPlace& place);
[[nodiscard]] std::unique_ptr<LowerTier> make_leveldb(const TierPlace& place);
[[nodiscard]] std::unique_ptr<LowerTier> make_record_log(const TierPlace& place);

}  // namespace recmigrate
