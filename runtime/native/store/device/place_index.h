// Which keys have a row at which place, and the order in which rows give way to others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace recmigrate {

// Places are numbered 0 … capacity - 1. Of the keys that the fewest batches used (at most kMostUses are counted), or of
// all if `by_uses` is false, the one used least recently gives way first. The same calls give the same order.
class PlaceIndex {
 public:
  static constexpr std::int32_t kNowhere = -1;
  static constexpr std::size_t kMostUses = 255;

  PlaceIndex(std::size_t capacity, bool by_uses);

  [[nodiscard]] std::size_t capacity() const noexcept { return nodes_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return capacity() - free_.size(); }
  [[nodiscard]] std::int32_t find(std::int64_t key) const noexcept;
  [[nodiscard]] std::int64_t key(std::int32_t place) const noexcept { return node(place).key; }
  // The batch that used the key at a place last, and the number of batches that did.
  [[nodiscard]] std::int64_t batch(std::int32_t place) const noexcept { return node(place).batch; }
  [[nodiscard]] std::size_t uses(std::int32_t place) const noexcept { return node(place).uses; }
  [[nodiscard]] bool taken(std::int32_t place) const noexcept { return node(place).uses != 0; }

  // Fetches the memory that `find` will read.
  void prefetch(std::int64_t key) const noexcept { __builtin_prefetch(&table_[home(key)]); }
  void prefetch_place(std::int64_t place) const noexcept {
    if (place >= 0) __builtin_prefetch(&nodes_[static_cast<std::size_t>(place)]);
  }
  // Gives an absent key a free place, as used by a batch. There must be one.
  std::int32_t put(std::int64_t key, std::int64_t batch);
  // The same at a certain free place that gave way, in the state that it had then. The last that gave way comes first.
  void put_back(std::int64_t key, std::int32_t place, std::int64_t batch, std::size_t uses);
  void remove(std::int32_t place) noexcept;
  // Counts a use by a batch that is newer than the key's last one, and not older than those of other keys.
  void use(std::int32_t place, std::int64_t batch);
  // The place that gives way first of those that no batch from `oldest` on used; kNowhere if there is none. It is to be
  // removed. `level` is where to search: 0, and for further calls of the same batch what the last one left there.
  [[nodiscard]] std::int32_t first_to_go(std::int64_t oldest, std::size_t& level) noexcept;
  // The number of those that may give way, or `enough` if there are more.
  [[nodiscard]] std::size_t count_to_go(std::int64_t oldest, std::size_t enough) const noexcept;
  // Frees the memory of entries that no longer hold, if there are many. Not between `first_to_go` and `put_back`.
  void tidy() noexcept;
  void clear() noexcept;

 private:
  // What belongs to a place, in one cache line.
  struct alignas(32) Node {
    std::int64_t key = 0;
    std::int64_t batch = 0;
    std::uint16_t uses = 0;  // 0: free
  };
  struct Entry {
    std::int64_t key = 0;
    std::int32_t place = kNowhere;
  };
  // A use of a place; it holds until the next one. A log costs a write in sequence for each use, where a linked list
  // would touch the nodes of neighbours all over the memory.
  struct Use {
    std::int64_t batch;
    std::int32_t place;
  };
  struct Log {
    std::vector<Use> uses;  // from the oldest to the newest
    std::size_t begin = 0;  // those before gave way, or no longer held
  };
  [[nodiscard]] static std::size_t at(std::int32_t place) noexcept { return static_cast<std::size_t>(place); }
  [[nodiscard]] std::size_t home(std::int64_t key) const noexcept;
  [[nodiscard]] Log& log_of(const Node& of) noexcept { return logs_[by_uses_ ? of.uses : 0]; }
  [[nodiscard]] bool holds(const Use& use, std::size_t level) const noexcept {
    const Node& of = node(use.place);
    return of.batch == use.batch && of.uses != 0 && (!by_uses_ || of.uses == level);
  }
  void insert_key(std::int64_t key, std::int32_t place) noexcept;
  void note(std::int32_t place);

  [[nodiscard]] Node& node(std::int32_t place) noexcept { return nodes_[at(place)]; }
  [[nodiscard]] const Node& node(std::int32_t place) const noexcept { return nodes_[at(place)]; }

  const bool by_uses_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> free_;
  std::vector<Log> logs_;     // by number of uses
  std::size_t noted_ = 0;     // entries of all logs
  std::vector<Entry> table_;  // by the hash of keys, linear probing
  std::size_t mask_;
};

}  // namespace recmigrate
