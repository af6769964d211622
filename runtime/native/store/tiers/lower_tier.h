// A tier below the table's rows in memory: rows that were not used recently move to it, and back when needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/rows/index.h"

namespace recmigrate {

// The configuration of a tier.
enum class Medium { memory, mapped, log, leveldb };

// Statistics of a tier since it was created, and its contents.
struct TierUse {
  std::uint64_t rows = 0;          // that can be read
  std::uint64_t medium_bytes = 0;  // used on the medium, including dead records
  std::uint64_t memory_bytes = 0;  // of the tier itself: buffers and lists
  std::uint64_t read_rows = 0;
  std::uint64_t written_rows = 0;  // to the medium, including those moved by compaction
  std::uint64_t compactions = 0;
  std::uint64_t moved_rows = 0;
};

// A row found by `oldest_segment`.
struct StoredRows {
  std::vector<std::int64_t> keys;
  std::vector<Slot> places;
  std::vector<float> rows;
};

// Stores rows of one width by place; the table's index knows which key has which place. A place can be read until
// `settle`, even if it was dropped. `get` and `drop` may be called by many threads at once, the others by one thread at
// the same time.
class LowerTier {
 public:
  virtual ~LowerTier() = default;

  // places[i] = where rows[i] is stored from now on. If it throws LimitReached, StorageFull or StorageFailed, nothing
  // has changed.
  virtual void put(const std::int64_t* keys, const float* const* rows, std::size_t count, Slot* places) = 0;
  // out[i] = where to copy the row at places[i], which belongs to keys[i]. Throws StorageFailed that names the key of a
  // row that is damaged or cannot be read.
  virtual void get(const std::int64_t* keys, const Slot* places, std::size_t count, float* const* out) const = 0;
  // These places are no longer needed.
  virtual void drop(const std::int64_t* keys, const Slot* places, std::size_t count) noexcept = 0;
  // There are no readers: dropped places are reused from now on.
  virtual void settle() noexcept = 0;
  // Writes rows that `put` kept in memory to the medium. Throws StorageFailed; rows that were not written stay in
  // memory.
  virtual void flush() = 0;
  // The rows, including dead ones, of the part of the tier that most needs to be rewritten; false if none does. The
  // caller puts live rows again, drops the places, and settles. `scarce`: space is needed, so less is worth it.
  [[nodiscard]] virtual bool worth_moving(StoredRows& /*found*/, bool /*scarce*/) { return false; }
  // The row at a place if the medium is memory, else null. It is not checked, and may belong to another key if the
  // place was dropped and settled. Not concurrently with `put`.
  [[nodiscard]] virtual const float* in_place(Slot /*place*/) const noexcept { return nullptr; }
  [[nodiscard]] virtual TierUse use() const = 0;
};

// `width` floats per row; `capacity` bytes of the medium, 0 for no limit; about `segment` bytes are written at once.
// `library` is where the medium's library may be, besides the system's.
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
