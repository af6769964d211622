// The rows of a table that lie on a device: where they are, which move for a batch, and which were changed there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/device/place_index.h"

namespace recmigrate {

// What must move before the rows of a batch lie on the device. First the rows that leave are written to the host and
// `moved(ticket, false)` is called; then the rows that come are written to the device and `moved(ticket, true)` is.
struct Moves {
  std::int64_t ticket = 0;
  std::vector<std::int64_t> in_keys;
  std::vector<std::int64_t> in_places;
  std::vector<std::int64_t> out_keys;  // of rows that were changed on the device; others just give way
  std::vector<std::int64_t> out_places;
};

struct PlacesStatus {
  std::size_t capacity = 0;
  std::size_t rows = 0;
  std::uint64_t found = 0;    // distinct keys of batches that lay on the device
  std::uint64_t fetched = 0;  // those that came for their batch
  std::uint64_t written = 0;  // rows that were written to the host to make way
};

// Safe for any number of threads, but for one training step at a time: if a step began moves and did not end them when
// the next batch comes, it failed, and its moves are taken back as far as they were not done.
class Places {
 public:
  // `steps`: number of steps whose rows stay, the current one among them.
  Places(std::string table, std::size_t capacity, bool by_uses, std::size_t steps);

  // places[i] = where the row of keys[i] will lie once `moves` are done, or -1 where admitted[i] is false; `admitted`
  // may be null. The rows of the batch, and of other batches of the same and of `steps - 1` earlier steps, stay. Throws
  // InvalidInput if there is no room; then nothing has changed.
  void place(const std::int64_t* keys, std::size_t count, const bool* admitted, std::int64_t step, std::int64_t* places,
             Moves& moves);
  // Throws InvalidInput if another batch came meanwhile.
  void moved(std::int64_t ticket, bool in);
  // places[i] = where the row of keys[i] lies, -1 if it is not on the device.
  void find(const std::int64_t* keys, std::size_t count, std::int64_t* places) const;
  // For an update, which waits for rows that still come: numbers[i] = the number of keys[i] among the distinct keys, in
  // the order of their first occurrence, or -1 if it is one of `fixed`; returns the places of these. Their rows count
  // as changed. Of rows that are not on the device, `rest` gets the numbers i, and numbers[i] = -1; if it is null,
  // InvalidInput is thrown.
  std::vector<std::int64_t> changed(const std::int64_t* keys, std::size_t count, const std::vector<std::int64_t>& fixed,
                                    std::int32_t* numbers, std::vector<std::int64_t>* rest = nullptr);
  // The keys with a row on the device and their places, or only of those that were changed there.
  void all(bool only_changed, std::vector<std::int64_t>& keys, std::vector<std::int64_t>& places) const;
  // No row is on the device any more, whatever was changed there.
  void clear();
  [[nodiscard]] PlacesStatus status() const;

 private:
  struct Move {
    std::int32_t place;
    std::int64_t in_key;
    bool leaves;  // there was a row, of this key and state
    std::int64_t out_key;
    std::int64_t batch;
    std::size_t uses;
    bool changed;
  };
  [[nodiscard]] static std::size_t at(std::int32_t place) noexcept { return static_cast<std::size_t>(place); }
  void begin_batch(std::int64_t step);
  [[nodiscard]] std::vector<std::int64_t> use_present(const std::int64_t* keys, std::size_t count, const bool* admitted,
                                                      std::int64_t* places);
  void find_all(const std::int64_t* keys, std::size_t count, std::int64_t* places) const;
  void require_room(std::size_t missing) const;
  void take(std::int64_t key, std::size_t& level, Moves& moves);
  void take_back() noexcept;

  const std::string table_;
  const std::size_t steps_;
  mutable std::mutex mutex_;
  PlaceIndex index_;
  std::vector<bool> changed_;          // by place
  std::vector<bool> coming_;           // by place: its row has not come yet
  std::vector<std::int64_t> marks_;    // by place: the latest call of `changed` that met it
  std::vector<std::int32_t> numbers_;  // by place: its number in that call
  std::int64_t mark_ = 0;
  std::int64_t batch_ = 0;                 // number of the latest batch
  std::vector<std::int64_t> begins_;       // the first batch of each of the latest steps, the last of the current one
  std::int64_t step_ = 0;                  // the caller's number of the current step
  bool over_ = true;                       // it has updated the table
  std::vector<Move> moving_;               // of the latest batch, in the state of the next two
  bool left_ = true;                       // what leaves was written to the host
  bool came_ = true;                       // and what comes to the device
  std::vector<std::int64_t> recent_keys_;  // of the latest batch, for its update, and their places
  std::vector<std::int64_t> recent_places_;
  PlacesStatus status_;
};

}  // namespace recmigrate
