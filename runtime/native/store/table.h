// A table of embedding rows that grows with its keys: look-up, insertion, update, deletion, snapshot and import.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "store/admission.h"
#include "store/batch.h"
#include "store/bloom.h"
#include "store/capture.h"
#include "store/deferred.h"
#include "store/hash.h"
#include "store/initializer.h"
#include "store/locks.h"
#include "store/optimizer.h"
#include "store/row.h"
#include "store/rows.h"
#include "store/seen.h"
#include "store/shard.h"
#include "store/staged.h"
#include "store/tiers/lower_tier.h"
#include "store/tiers/sweeper.h"

namespace recmigrate {

// Where rows may lie, from the first tier to the last.
struct TierConfig {
  Medium medium = Medium::memory;
  std::uint64_t bytes = 0;  // that it may take; 0 is no limit
};

struct TableConfig {
  std::string name;
  std::int64_t dim = 0;   // floats per row, > 0
  std::int64_t seed = 0;  // of the initial rows
  std::string initializer;
  std::int64_t reserve = 0;    // rows to expect; a hint
  std::int64_t max_bytes = 0;  // of rows, counters of keys and index; 0 is no limit
  bool evicts = false;         // rows when that is reached, those not used for longest, instead of refusing new ones
  bool expansion = false;      // rows have addresses: a cell per row keeps its generation
  std::vector<std::int64_t> padding_keys;  // whose rows no update changes
  std::vector<TierConfig> tiers;           // none: all rows in memory; the first one is memory
  std::string tier_folder;                 // of those that are not
  bool tier_by_uses = true;                // the rows used least go down first, of those the ones not used for longest
  std::string tier_library;                // LevelDB's, where the system has none
  std::int64_t tier_segment = 1 << 20;     // bytes that are written to a medium at once
  bool tier_counts_values = false;  // only value and slots, each rounded up to 16 bytes, count as bytes of a tier

  // Takes over `name=value;…`. Throws InvalidInput that names the table, the option and the ones known.
  void parse_options(const std::string& text);
};

// What a snapshot says besides its rows; `to_vector` and `from_vector` give the int64 tensor of a checkpoint.
struct TableMeta {
  static constexpr std::int64_t kVersion = 2;
  static constexpr std::int64_t kDecayed = 3;  // has `left`, whatever the rule: an earlier one decayed the weights

  std::int64_t seed = 0;
  std::int64_t dim = 0;
  OptimizerKind kind = OptimizerKind::none;
  SlotStarts starts{};  // of rows inserted from now on
  SeenKeys seen;        // those without a row, and in a checkpoint those with one
  double left = 1;      // of the initial value of a row to come, after the weight decay that all rows had

  // [version, seed, dim, slots per row, optimizer kind, bits of each slot's start …, with weight decay of all rows or
  // in version 3 the bits of `left`, what SeenKeys appends]
  [[nodiscard]] std::vector<std::int64_t> to_vector() const;
  // Reads version 1 too. Throws InvalidInput that names `owner` and the entry.
  [[nodiscard]] static TableMeta from_vector(const std::int64_t* meta, std::size_t count, const std::string& owner);
};

// With a `max_bytes`, a call that needs more throws LimitReached and inserts nothing, or evicts rows that it does not
// need itself, waiting for a snapshot under way; the steps of an optimizer that moves all rows (`Deferred`) are not
// counted. Safe for any number of threads. A row is never seen half-written. The same calls in the same order give the
// same bits for any number of threads in the pool. When a call throws, every row is as before; keys it was to insert
// may be there, with their initial rows.
class Table : private Tended {
 public:
  // Throws InvalidInput that names the table and the wrong field.
  explicit Table(const TableConfig& config);
  virtual ~Table();
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return config_.name; }
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  [[nodiscard]] std::size_t size() const;
  // Of the rows that were ever needed at once, and of the index.
  [[nodiscard]] std::size_t bytes() const;
  // Rows that were evicted since the table was made, for whatever reason.
  [[nodiscard]] std::size_t evicted() const noexcept { return evicted_; }

  // out[count, dim] = the keys' rows; an unseen key reads its initial row and is not inserted. Rows of lower tiers come
  // up.
  void lookup(const std::int64_t* keys, std::size_t count, float* out);

  // As `lookup`, but unseen keys are inserted.
  void lookup_or_insert(const std::int64_t* keys, std::size_t count, float* out);

  // Calls body(view) once: view.read(begin, count, scratch, rows) gives the rows of up to kBlock of the keys, from any
  // thread; they are valid and do not change while body runs. An unseen key is inserted before, or has its initial row.
  class View;
  template <typename Body>
  void view(const std::int64_t* keys, std::size_t count, bool insert, const Body& body);

  // What a look-up that inserts leaves with the table for what follows of its step: its ids, and their distinct keys
  // with their rows.
  struct Found {
    Found(const std::int64_t* keys, Batch keys_with_rows, std::uint64_t now);

    [[nodiscard]] bool is_for(const std::int64_t* keys, std::size_t count) const noexcept;

    std::unique_ptr<std::int64_t[]> ids;
    Batch batch;
    std::uint64_t epoch;  // of the table then (see `has_rows`); kNoRows: they were not looked for
  };
  using FoundPtr = std::unique_ptr<Found>;
  static constexpr std::uint64_t kNoRows = ~std::uint64_t{0};
  // Takes what a look-up of exactly these keys left, or de-duplicates them.
  [[nodiscard]] FoundPtr take_found(const std::int64_t* keys, std::size_t count);
  // Leaves it for an update of its ids.
  void leave_found(FoundPtr found);
  // As `view` without inserting; rows that were found are not looked for again.
  template <typename Body>
  void view_found(const Found& found, const Body& body);

  // found[i] = whether keys[i] has a row.
  void contains(const std::int64_t* keys, std::size_t count, bool* found) const;

  // The initial row of a key, whether it is in the table or not.
  void initial_row(std::int64_t key, float* out) const;

  // Sums the gradients [count, dim] of equal keys in input order, inserts unseen keys and updates each row once. A
  // table that counts its keys, or that keys were evicted from, is not given rows back: there keys without a row are
  // skipped. Throws InvalidInput when the table's slots belong to another rule, and for a sum that is not finite unless
  // such rows are to be skipped.
  void apply(const std::int64_t* keys, std::size_t count, const float* grads, const Update& update);
  // The same for many tables. Throws before a row of any is changed, also InvalidInput for a table that comes twice.
  struct Gradients {
    Table* table;
    const std::int64_t* keys;
    std::size_t count;
    const float* grads;
  };
  static void apply_together(std::vector<Gradients> all, const Update& update);
  // Says which optimizer, a number of its own, updates next, and how many steps it has made so far. Since the table was
  // made, restored or reset: one without steps, or that comes after another, begins at its next update with slots like
  // those of new rows, also when it is of another rule. One that comes back goes on with the slots that are there; then
  // `apply` throws InvalidInput when they are of another rule.
  void begin(std::int64_t optimizer, std::int64_t steps);
  // The rule of the latest update since the table was made, restored or reset, and its first number, which is how long
  // its steps are; `none` before.
  struct Trained {
    std::int32_t kind = 0;  // the number of an OptimizerKind; of 32 bits, so that the whole is written at once
    float rate = 0;
  };
  [[nodiscard]] Trained trained() const;

  // The addresses of the keys' rows, which are inserted when unseen. Throws InvalidInput unless made with `expansion`.
  void addresses(const std::int64_t* keys, std::size_t count, std::int64_t* out);
  // The distinct keys of a batch: rows [n, dim] and addresses [n], and for each id which of them it is. Unseen keys are
  // inserted. `sink(n)` is called once and returns where to write that.
  struct Expansion {
    float* rows;
    std::int64_t* addresses;
    std::int64_t* numbers;
  };
  template <typename Sink>
  void expand(const std::int64_t* keys, std::size_t count, Sink&& sink);
  // out[count, dim] = the rows at these addresses; `apply_at` updates them as `apply` does. Throws InvalidInput that
  // names the first address that is not, or no longer, that of a row; nothing is changed then.
  void lookup_at(const std::int64_t* addresses, std::size_t count, float* out) const;
  void apply_at(const std::int64_t* addresses, std::size_t count, const float* grads, const Update& update);

  // As `lookup_or_insert`, but counts the keys first, and only those that were seen often enough have rows: for the
  // others out is zero, admitted[i] false, and nothing is inserted. Rows that came otherwise (restored from a
  // checkpoint without counters, upserted, inserted when nothing was counted) are not counted, and admitted whatever
  // the threshold. Throws InvalidInput for numbers out of range. `out` and `admitted` may be null: then nothing is
  // read.
  void lookup_and_admit(const std::int64_t* keys, std::size_t count, const Admission& admission, float* out,
                        bool* admitted);
  // The same without counting or inserting.
  void lookup_admitted(const std::int64_t* keys, std::size_t count, std::int64_t threshold, float* out, bool* admitted);
  // A number above 0 replaces the threshold of every later look-up; 0 stops counting and keeps the threshold. Snapshots
  // keep it; reset and import_rows replace it.
  void set_threshold(std::int64_t threshold);
  // Deletes the keys, and forgets those without rows, that were last seen `age` or more before `now` (kNever: before
  // the newest time). A row that was never seen counts as seen now. Returns how many rows there were. Throws
  // InvalidInput when no look-up has given times.
  std::size_t evict_unseen(std::int64_t age, std::int64_t now);
  // Deletes the rows whose half squared norm is below `least`. Returns how many there were.
  std::size_t evict_light(float least);

  // As `apply`, but counts the keys of the gradients first, every occurrence: those that have no row get one once they
  // were seen often enough, and the gradients of the others are dropped.
  void apply_and_count(const std::int64_t* keys, std::size_t count, const float* grads, const Update& update,
                       const Admission& admission);
  // As `lookup`, but a key that has no row reads zeros; permitted[i] = whether keys[i] has one.
  void lookup_permitted(const std::int64_t* keys, std::size_t count, float* out, bool* permitted);
  // How often each key was counted, 0 when it never was, and when it was last, kNever when no time was given.
  void sightings(const std::int64_t* keys, std::size_t count, std::int64_t* counts, std::int64_t* times) const;
  // Keys that are counted exactly and have no row yet.
  [[nodiscard]] std::size_t waiting() const;
  // The initial rows of keys from now on: row floor-mod(key, count) of these. With `keep` those given before stay.
  // Throws InvalidInput when there is none.
  void set_initial_rows(const float* rows, std::size_t count, bool keep);

  // Inserts or overwrites values [count, dim], the last of equal keys wins; slots stay, or start as those of new rows.
  void upsert(const std::int64_t* keys, std::size_t count, const float* values);

  // Deletes rows with all that belongs to them; their memory is used again. Returns how many there were.
  std::size_t remove(const std::int64_t* keys, std::size_t count);
  // The same for every key with predicate(key, row), which is called from several threads.
  template <typename Predicate>
  std::size_t remove_if(const Predicate& predicate);

  // The state at one moment, between updates. `sink(meta, rows)` is called once, under the table's lock, and returns
  // the Destination. Look-ups and updates go on while the rows are being written there.
  template <typename Sink>
  void snapshot(Sink&& sink) const;

  // Replaces everything, the seed included. The first update that follows may be by another rule: it drops these slots.
  // Throws InvalidInput for another dim and for a key that comes twice.
  void import_rows(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
                   const float* slots);

  // Inserts or overwrites rows with the slots of the optimizer that `meta` names, the last of equal keys wins; its seed
  // is not taken over. Where it names none, slots stay, or start as those of new rows. No snapshot or look-up sees a
  // part of it. Throws InvalidInput for another dim, for damaged counters, and when the table has the slots of another
  // optimizer.
  void merge(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
             const float* slots);

  // Empties the table: no rows, no slots, the seed it was made with.
  void reset();

  // out[i] = the number of the tier that the row of keys[i] lies in, 0 for memory; -1 when there is none.
  void tiers_of(const std::int64_t* keys, std::size_t count, std::int32_t* out) const;
  // Has the rows of distinct keys that lie below memory read in the background, for a batch that will need them soon;
  // best with the keys of a shard one after the other. Nothing else changes: no key is inserted, counted or moved.
  void prefetch(std::vector<std::int64_t> keys);
  // Whether it does.
  [[nodiscard]] bool prefetches() const noexcept { return tiered() && sweeper::threads(sweeper::Work::prefetch) != 0; }
  // Returns once no tier holds more than it may, but for rows that batches bring up meanwhile, and what is to be on a
  // medium is there. Throws StorageFailed.
  void drain();
  // What the tiers hold and did, from the first to the last; empty for a table without.
  struct TierStatus {
    Medium medium;
    std::uint64_t capacity;  // rows; 0 is no limit
    std::uint64_t found;     // distinct keys of batches whose rows were here
    TierUse use;
    std::uint64_t prefetched;  // of those found, whose rows had been read ahead
    std::uint64_t unused;      // rows that were read ahead in vain, from whichever tier below; 0 for all but memory
  };
  [[nodiscard]] std::vector<TierStatus> tier_status() const;

 private:
  // All that `reset` and `import_rows` replace at once.
  struct State {
    State(const RowLayout& layout, std::int64_t seed_of_rows);

    RowLayout layout;
    std::unique_ptr<Arena> arena;
    std::vector<std::unique_ptr<Shard>> shards;
    std::int64_t seed;
    const std::uint32_t filling;  // in its addresses
    OptimizerKind kind = OptimizerKind::none;
    SlotStarts starts{};
    bool restored = false;                 // and not trained since: the first update may be by another rule
    std::vector<std::int64_t> optimizers;  // that `begin` named, the present one last
    bool anew = false;                     // slots, at the next update
    bool in_turn = false;                  // that optimizer had other slots when it updated last
    std::atomic<Trained> trained{Trained{}};
    std::unique_ptr<Deferred> steps;  // of a rule that moves all rows, from its first update on
    double left = 1;                  // of initial values, when `steps` began
    BloomConfig bloom;
    std::atomic<std::int64_t> newest{kNever};       // time that a look-up gave
    std::atomic<std::int64_t> threshold{-1};        // replaces those of look-ups when not negative
    std::atomic<bool> frozen{false};                // counts stay as they are
    std::atomic<bool> thinned{false};               // keys were evicted
    std::atomic<std::uint32_t> batches{0};          // that were stamped
    std::uint32_t lowered = 0;                      // the latest batch of which a row has gone down since
    std::vector<std::unique_ptr<LowerTier>> lower;  // the tiers below memory, as the shards' indexes have them
    std::unique_ptr<Staged> staged;                 // copies of rows there, where there are such tiers
  };

  // The gradients of a batch by distinct key; those of a part start where its keys do.
  struct Sums {
    explicit Sums(std::size_t floats) : memory(Scratch::bytes_of<float>(floats)), rows(memory.take<float>(floats)) {}

    Scratch memory;
    float* rows;
    std::atomic<bool> finite{true};
  };

  // What a batch is to add to the shards.
  struct Demand {
    std::size_t rows[kShards] = {};
    std::size_t bytes[kShards] = {};  // for them and for counters

    void set(const Shard& shard, std::size_t part, std::size_t more_rows, std::size_t counters,
             const RowLayout& layout) noexcept;
  };
  // Thrown when rows are to be evicted for a batch whose own rows were stamped. Nothing was changed.
  struct Full {
    Table* table;
    Demand demand;
    std::uint32_t stamp;
  };
  // What rows are evicted by, in this order.
  struct Candidate {
    std::uint32_t used;
    std::uint32_t last_seen;
    std::int64_t key;
    std::size_t shard;
  };
  // Keep the count of bytes right, however a call ends: what is about to be added, what one shard grew by, all shards.
  class Booking;
  class Growth;
  class Recount;

  // Holds the shards that some ids are in for reading.
  template <typename Lock>
  class ShardsGuard;
  using ReadGuard = ShardsGuard<ReadLock>;
  using WriteGuard = ShardsGuard<WriteLock>;
  [[nodiscard]] static std::uint64_t shards_of(const std::int64_t* keys, std::size_t count) noexcept;
  // Keeps the steps from growing while rows are read. Taken under `structure_`, before any shard.
  class StepsGuard;

  [[nodiscard]] RowLayout layout(OptimizerKind kind) const noexcept;
  [[nodiscard]] TableMeta meta() const;
  void add_seen(SeenKeys& seen) const;
  [[nodiscard]] NewRow new_row() const noexcept;
  void read(const std::int64_t* keys, std::size_t count, float* out) const;
  void read_from_tiers(const std::int64_t* keys, std::size_t count, float* out);
  void read_rows(const Batch& batch, std::size_t part, float* out) const noexcept;
  [[nodiscard]] static std::unique_ptr<float*[]> rows_by_id(const Batch& batch);
  template <typename Then>
  [[nodiscard]] Batch numbered(const std::int64_t* keys, std::size_t count, const Then& then,
                               Division division = Division::shards) const;
  [[nodiscard]] Batch resolve(const std::int64_t* keys, std::size_t count, bool insert = true);
  void resolve_part(Batch& batch, std::size_t part, bool insert = true);
  [[nodiscard]] bool find_rows(Batch& batch, std::size_t part) const noexcept;
  void insert_part(Batch& batch, std::size_t part);
  template <typename Iterator>
  void insert_into(Shard& shard, const std::int64_t* keys, float** rows, Iterator begin, Iterator end);
  [[nodiscard]] float* row_at(std::int64_t address) const noexcept;
  void find_addresses(Batch& batch, std::size_t part) const;
  void require_addresses() const;
  void begin_expansion(const Batch& batch, std::size_t* begins) const;
  void expand_part(const Batch& batch, std::size_t part, std::size_t begin, const Expansion& to) const;
  void require_rows(const Batch& batch, const std::int64_t* addresses) const;
  [[nodiscard]] bool limited() const noexcept { return config_.max_bytes != 0; }
  [[nodiscard]] bool tiered() const noexcept { return !config_.tiers.empty(); }
  // Whether rows are to tell when they were used last.
  [[nodiscard]] bool stamps() const noexcept { return config_.evicts || tiered(); }
  void check_tiers() const;
  [[nodiscard]] std::vector<std::unique_ptr<LowerTier>> make_lower(const RowLayout& layout) const;
  [[nodiscard]] std::unique_ptr<State> make_state(const RowLayout& layout, std::int64_t seed) const;
  [[nodiscard]] std::size_t tier_capacity(std::size_t tier) const noexcept;
  [[nodiscard]] std::size_t rows_in_memory() const;
  [[nodiscard]] std::size_t rows_held() const;
  [[nodiscard]] std::size_t most_copies() const noexcept;
  class Prefetcher;
  class Needing;
  [[nodiscard]] std::size_t rows_below(const Shard& shard) const noexcept;
  struct Below;
  void bring_up(Batch& batch, bool insert, std::uint32_t stamp);
  void find_below(Batch& batch, std::size_t part, std::vector<Below>& found) const;
  void take_up(Batch& batch, std::size_t part, const std::vector<Below>& found, const float* rows);
  std::uint32_t warm(const std::int64_t* keys, std::size_t count);
  void make_way();
  [[nodiscard]] bool way_made();
  void after_use();
  void trim(bool all);
  void trim_tiers(bool all);
  std::size_t move_down(bool all);
  struct Descent;
  [[nodiscard]] std::vector<Descent> coldest(std::size_t count, std::uint64_t before) const;
  void put_below(std::size_t tier, const std::vector<Descent>& rows);
  std::size_t lower_rows(bool all);
  [[nodiscard]] std::size_t rows_too_many() const;
  void compact_tiers(bool scarce);
  void compact_in_background() noexcept;
  bool move_segment(std::size_t tier, bool scarce);
  std::size_t pass_on();
  struct Passing;
  [[nodiscard]] std::vector<Passing> coldest_below(std::size_t tier, std::size_t count) const;
  void read_passing(std::size_t tier, std::vector<Passing>& rows, std::vector<float>& values) const;
  void tend() noexcept override;
  [[nodiscard]] static bool is_below(const Shard& shard, std::uint64_t hash, std::int64_t key) noexcept;
  [[nodiscard]] const float* row_in_any_tier(const Shard& shard, std::uint64_t hash, std::int64_t key,
                                             std::vector<float>& copy) const;
  [[nodiscard]] const float* found_or_below(const float* row, std::size_t shard, std::int64_t key,
                                            std::vector<float>& copy) const;
  [[nodiscard]] std::unique_ptr<float*[]> rows_where_they_lie(const std::int64_t* keys, std::size_t count,
                                                              std::vector<std::vector<float>>& copies) const;
  bool remove_below(Shard& shard, std::uint64_t hash, std::int64_t key) noexcept;
  template <typename Visit>
  void visit_below(std::size_t s, const Visit& visit) const;
  struct RebuiltBelow;
  template <typename Change>
  [[nodiscard]] RebuiltBelow rebuilt_below(const RowLayout& after, const Change& change) const;
  void take_over(RebuiltBelow below) noexcept;
  struct FrozenBelow;
  [[nodiscard]] FrozenBelow freeze_below() const;
  void write_below(const FrozenBelow& rows, const Destination& to, std::size_t begin,
                   const std::shared_ptr<const Deferred>& steps) const;
  template <typename Body>
  static void with_room(const Body& body);
  void insert_within_limit(Batch& batch, std::uint32_t stamp);
  void require_places(const Shard& shard, std::size_t more) const;
  void require_room(const RowLayout& after, const BloomConfig& bloom) const;
  [[nodiscard]] std::size_t bytes_with(const RowLayout& after, const BloomConfig& bloom) const noexcept;
  void make_room_for(const RowLayout& after, const std::int64_t* keys, std::size_t count);
  void compact();
  [[noreturn]] void refuse(std::size_t bytes, const std::string& remedy) const;
  void recount() noexcept;
  [[nodiscard]] std::uint32_t next_stamp() noexcept;
  void stamp_part(const Batch& batch, std::size_t part, std::uint32_t stamp) const noexcept;
  void make_room(const Full& full);
  [[nodiscard]] std::vector<Candidate> oldest(std::uint32_t before, std::size_t least) const;
  [[nodiscard]] std::size_t need_of(std::size_t s, const Demand& demand, std::size_t evicted) const noexcept;
  [[nodiscard]] bool has_room_to_count(const Shard& shard, std::size_t more) const noexcept;
  void evict(const std::vector<std::vector<std::int64_t>>& keys);
  void remember(const std::int64_t* keys, Batch batch);
  // Whether the rows of what was found are still where they were. `structure_` is held.
  [[nodiscard]] bool has_rows(const Found& found) const noexcept {
    return found.epoch == epoch_ && (!tiered() || found.batch.stamp() > state_->lowered);
  }
  [[nodiscard]] std::uint64_t awaited() noexcept;
  [[nodiscard]] FoundPtr take_recent(const std::int64_t* ids, std::size_t count);
  [[nodiscard]] FoundPtr recall(const std::int64_t* ids, std::size_t count);
  // Fetches the index lines of keys that a part will look for.
  struct Fetch {
    const Table& table;
    void operator()(const Batch& batch, std::size_t part, const std::int64_t* keys, std::size_t count) const noexcept;
  };
  void find_block(const std::int64_t* keys, std::size_t count, float** rows, std::uint8_t* shards) const noexcept;
  void note_trained(const Update& update) noexcept {
    state_->trained.store({static_cast<std::int32_t>(update.kind), update.hyper[0]}, std::memory_order_relaxed);
  }
  template <typename Body>
  void with_slots(const Update& update, const std::int64_t* keys, std::size_t count, const Body& body);
  [[nodiscard]] bool ready_for(const Update& update) const;
  // Whether a key that has no row may have lost it since it was looked up. Where keys start with given rows, updates
  // create them, not look-ups.
  [[nodiscard]] bool skips_absent() const noexcept {
    return (state_->thinned && !initializer_.has_rows()) || state_->layout.has(Cell::count);
  }
  void adopt(OptimizerKind kind, const SlotStarts& starts, const Update* first, const std::int64_t* keys,
             std::size_t count);
  void begin_steps(const Update& first);
  void settle();
  // The value of a row as it is after all steps.
  void read_row(const float* row, float* out) const noexcept {
    if (state_->steps == nullptr) {
      copy_row(out, row, dim_);
    } else {
      state_->steps->value(row, state_->layout.read(row, Cell::last_step), dim_, out);
    }
  }
  void read_initial(std::int64_t key, float* out) const noexcept;
  void catch_up(float* row, std::uint32_t taken) const noexcept;
  void update_rows(const Update& update, float* const* rows, const float* sums, std::size_t count) const noexcept;
  void update_and_step(const Batch& batch, const Sums& sums, const Update& update);
  void widen(const RowLayout& after, bool keep_slots, const SlotStarts& starts);
  struct Judged;
  void check(const Admission& admission) const;
  [[nodiscard]] Admission in_force(Admission admission) const;
  [[nodiscard]] bool tracks(const BloomConfig& bloom) const noexcept;
  void track(const BloomConfig& bloom);
  template <typename Body>
  void with_counters(const BloomConfig& bloom, const Body& body);
  void count_and_admit(const std::int64_t* keys, std::size_t count, const Admission& rules, float* out, bool* admitted);
  void find_part(Batch& batch, std::size_t part) const noexcept;
  void demand_part(Batch& batch, std::size_t part, const Admission& admission, std::uint32_t stamp, Demand& demand);
  void admit_part(Batch& batch, std::size_t part, const Admission& admission, std::uint32_t seen, std::uint32_t stamp);
  [[nodiscard]] Judged judge(const Shard& shard, const Batch& batch, std::size_t part,
                             const Admission& admission) const;
  void require_counters(const SeenKeys& seen) const;
  void restore_seen(State& state, const SeenKeys& seen) const;
  void require_dim(const TableMeta& meta) const;
  [[nodiscard]] std::unique_ptr<State> filled(const TableMeta& meta, const std::int64_t* keys, std::size_t count,
                                              const float* values, const float* slots) const;
  struct Restored;
  [[nodiscard]] static std::size_t bytes_of(const State& state) noexcept;
  [[nodiscard]] std::unique_ptr<State> fitted(std::unique_ptr<State> whole, const Restored& rows) const;
  [[nodiscard]] static std::vector<std::size_t> newest_first(const State& state, const std::vector<std::int64_t>& keys);
  template <typename Write>
  void write_rows(const Batch& batch, const Write& write);
  struct Prepared;
  static void hold_and_apply(const std::vector<Gradients>& all, std::size_t from, const Update& update,
                             std::vector<std::unique_ptr<Prepared>>& prepared);
  [[nodiscard]] Batch sum(const Gradients& of, Sums& sums);
  void require_sound(const Batch& batch, const Sums& sums, const Update& update) const;
  void update_all(const Batch& batch, const Sums& sums, const Update& update);
  void sum_part(const Batch& batch, std::size_t part, const float* grads, Sums& sums) const noexcept;
  void update_part(const Batch& batch, std::size_t part, const Sums& all_sums, const Update& update) noexcept;
  [[nodiscard]] bool find_padding(std::uint64_t shards) noexcept;
  [[nodiscard]] bool is_padding(std::int64_t id, IdKind kind, const float* row) const noexcept;
  [[noreturn]] void refuse_nonfinite(const Batch& batch, const Sums& sums) const;
  void update_some(const Update& update, const Batch& batch, std::size_t first, const float* sums,
                   std::size_t count) const noexcept;
  void save_part(const Batch& batch, std::size_t part) noexcept;
  void begin_snapshot(std::vector<std::size_t>& begins) const;
  void write_snapshot() const noexcept;
  std::size_t remove_from(Shard& shard, const std::int64_t* keys, std::size_t count) noexcept;

  TableConfig config_;
  const std::size_t dim_;
  Initializer initializer_;

  // Rows that no update changes, by shard and guarded by its lock; found again by each update.
  struct PaddingRow {
    std::int64_t key;
    float* row;
  };
  std::vector<PaddingRow> padding_[kShards];

  // Whoever replaces or removes rows, gives them other slots or cells, or takes a snapshot, holds `maintenance_`
  // throughout.
  mutable FairMutex maintenance_;
  // Held for reading by every call that uses rows, for writing while the set of rows is replaced, thinned or frozen.
  // Locks are taken in this order: maintenance_, structure_, stepping_, steps_, filling_, shards from the first to the
  // last, recent_mutex_.
  mutable SharedMutex structure_;
  std::unique_ptr<State> state_;
  std::mutex filling_;   // one batch at a time is inserted where there is a limit, or two could take the same places
  std::mutex stepping_;  // one update at a time, when all rows move
  mutable SharedMutex steps_;          // held for writing while a step is added to those of the state
  std::uint64_t epoch_ = 0;            // rows of an earlier epoch may be gone
  std::atomic<std::size_t> bytes_{0};  // of the shards, and what is booked
  std::atomic<std::size_t> evicted_{0};

  mutable std::atomic<std::uint64_t> found_[4] = {};  // distinct keys of batches, by the tier that had them
  std::atomic<std::uint64_t> prefetched_[4] = {};     // those of them whose rows had been read ahead
  std::unique_ptr<Prefetcher> prefetcher_;
  std::atomic<bool> storage_failed_{false};  // when rows were moved in the background
  // What a thread of its own compacts.
  class Compactor final : public Tended {
   public:
    explicit Compactor(Table& table) noexcept : table_(table) {}
    void tend() noexcept override { table_.compact_in_background(); }

   private:
    Table& table_;
  };
  Compactor compactor_{*this};

  std::mutex recent_mutex_;
  std::vector<FoundPtr> recent_;  // batches looked up lately, for their updates
};

// The rows of lower tiers that a snapshot has, by tier.
struct Table::FrozenBelow {
  struct Row {
    Slot place;
    std::int64_t key;
  };
  std::vector<std::vector<Row>> tiers;

  [[nodiscard]] std::size_t count() const noexcept {
    std::size_t rows = 0;
    for (const auto& tier : tiers) rows += tier.size();
    return rows;
  }
};

// Holds some shards, taken in the order of their numbers, as all do who take several.
template <typename Lock>
class Table::ShardsGuard {
 public:
  // Those whose bit is set.
  ShardsGuard(const State& state, std::uint64_t shards) noexcept : state_(state), shards_(shards) {
    // A lock waits for its line, and no other line is fetched meanwhile.
    for_each([](Shard& shard) { __builtin_prefetch(&shard.mutex, 1); });
    for_each([](Shard& shard) { take(shard.mutex); });
  }
  ~ShardsGuard() {
    for_each([](Shard& shard) { release(shard.mutex); });
  }
  ShardsGuard(const ShardsGuard&) = delete;
  ShardsGuard& operator=(const ShardsGuard&) = delete;

  // Calls body(shard) for each.
  template <typename Body>
  void for_each(const Body& body) const {
    for (std::uint64_t rest = shards_; rest != 0; rest &= rest - 1) {
      body(*state_.shards[static_cast<std::size_t>(__builtin_ctzll(rest))]);
    }
  }

 private:
  static constexpr bool kShared = std::is_same_v<Lock, ReadLock>;
  static void take(SharedMutex& mutex) noexcept { kShared ? mutex.lock_shared() : mutex.lock(); }
  static void release(SharedMutex& mutex) noexcept { kShared ? mutex.unlock_shared() : mutex.unlock(); }

  const State& state_;
  const std::uint64_t shards_;
};

class Table::Recount {
 public:
  // While `structure_` is held for writing.
  explicit Recount(Table& table) noexcept : table_(table) {}
  ~Recount() { table_.recount(); }
  Recount(const Recount&) = delete;
  Recount& operator=(const Recount&) = delete;

 private:
  Table& table_;
};

class Table::Growth {
 public:
  // While the shard is locked for writing.
  Growth(Table& table, const Shard& shard) noexcept
      : table_(table), shard_(shard), before_(shard.bytes(table.state_->layout)) {}
  ~Growth() { table_.bytes_ += shard_.bytes(table_.state_->layout) - before_; }
  Growth(const Growth&) = delete;
  Growth& operator=(const Growth&) = delete;

 private:
  Table& table_;
  const Shard& shard_;
  const std::size_t before_;
};

class Table::Booking {
 public:
  // Throws Full or LimitReached.
  Booking(Table& table, const Demand& demand, std::uint32_t stamp);
  ~Booking() { table_.bytes_ -= bytes_; }
  Booking(const Booking&) = delete;
  Booking& operator=(const Booking&) = delete;

 private:
  Table& table_;
  std::size_t bytes_ = 0;
};

class Table::StepsGuard {
 public:
  explicit StepsGuard(const Table& table) noexcept : steps_(table.state_->steps ? &table.steps_ : nullptr) {
    if (steps_ != nullptr) steps_->lock_shared();
  }
  ~StepsGuard() {
    if (steps_ != nullptr) steps_->unlock_shared();
  }
  StepsGuard(const StepsGuard&) = delete;
  StepsGuard& operator=(const StepsGuard&) = delete;

 private:
  SharedMutex* const steps_;
};

// Ids per task: a few tens of microseconds of work, so that waking a thread pays and the last task is short.
inline constexpr std::size_t kRowGrain = 4096;

class Table::View {
 public:
  // The rows of the keys, when the caller has found them already, or null.
  View(const Table& table, const std::int64_t* keys, float* const* found) noexcept
      : table_(table), keys_(keys), found_(found) {}

  // rows[i] = the row of key number begin + i, for i < count <= kBlock; those of keys that have none, and
  // those that have steps to take, are written to scratch[i * dim].
  void read(std::size_t begin, std::size_t count, float* scratch, const float** rows) const noexcept;

 private:
  const Table& table_;
  const std::int64_t* keys_;
  float* const* found_;
};

// Calls body() again once rows were evicted for it, from whichever table was full.
template <typename Body>
void Table::with_room(const Body& body) {
  for (;;) {
    try {
      return body();
    } catch (const Full& full) {
      full.table->make_room(full);
    }
  }
}

template <typename Body>
void Table::view(const std::int64_t* keys, std::size_t count, bool insert, const Body& body) {
  bool moves = true;
  insert ? make_way() : void(moves = way_made());
  with_room([&] {
    const ReadLock lock(structure_);
    std::unique_ptr<float*[]> found;
    if (!insert && moves) warm(keys, count);
    if (insert) {
      Batch batch = resolve(keys, count);
      found = rows_by_id(batch);
      remember(keys, std::move(batch));
    }
    const StepsGuard steps(*this);
    const ReadGuard guard(*state_, shards_of(keys, count));
    std::vector<std::vector<float>> copies;
    if (!moves) found = rows_where_they_lie(keys, count, copies);
    body(View(*this, keys, found.get()));
  });
  after_use();
}

template <typename Body>
void Table::view_found(const Found& found, const Body& body) {
  const ReadLock lock(structure_);
  const bool there = has_rows(found);
  if (!there) warm(found.ids.get(), found.batch.count());
  const std::unique_ptr<float*[]> rows = there ? rows_by_id(found.batch) : nullptr;
  const StepsGuard steps(*this);
  const ReadGuard guard(*state_, shards_of(found.ids.get(), found.batch.count()));
  body(View(*this, found.ids.get(), rows.get()));
}

// Calls body() under `structure_` once the rows have the slots of the update's rule, which are made at the expense of
// other rows than those of `keys` if need be. Where they have to be made, nobody
// else can change them again until the update is done, so it waits for one snapshot at most.
template <typename Body>
void Table::with_slots(const Update& update, const std::int64_t* keys, std::size_t count, const Body& body) {
  {
    const ReadLock lock(structure_);
    if (ready_for(update)) {
      note_trained(update);
      return body();
    }
  }
  const Maintenance maintenance(maintenance_);
  if (!ready_for(update)) {
    const WriteLock lock(structure_);
    adopt(update.kind, update.starts, &update, keys, count);
  }
  const ReadLock lock(structure_);
  note_trained(update);
  body();
}

template <typename Sink>
void Table::expand(const std::int64_t* keys, std::size_t count, Sink&& sink) {
  require_addresses();
  with_room([&] {
    const ReadLock lock(structure_);
    const Batch batch = resolve(keys, count);
    const Expansion to = sink(batch.distinct());
    std::size_t begins[kShards];
    begin_expansion(batch, begins);
    const StepsGuard steps(*this);
    batch.for_each_part([&](std::size_t part) { expand_part(batch, part, begins[part], to); });
  });
}

// Calls visit(key, row) for the rows of a shard in lower tiers, in the order of their places. No rows go up or down
// meanwhile. Throws StorageFailed.
template <typename Visit>
void Table::visit_below(std::size_t s, const Visit& visit) const {
  constexpr std::size_t kTogether = 2048;
  const Shard& shard = *state_->shards[s];
  const std::size_t width = state_->layout.stride();
  for (std::size_t t = 0; t < shard.lower.size(); ++t) {
    std::vector<std::pair<Slot, std::int64_t>> rows;
    shard.lower[t].for_each([&](std::int64_t key, Slot place) { rows.emplace_back(place, key); });
    std::sort(rows.begin(), rows.end());
    std::vector<float> memory(std::min(kTogether, rows.size()) * width);
    std::vector<std::int64_t> keys;
    std::vector<Slot> places;
    std::vector<float*> out;
    for (std::size_t begin = 0; begin < rows.size(); begin += kTogether) {
      const std::size_t some = std::min(kTogether, rows.size() - begin);
      keys.clear();
      places.clear();
      out.clear();
      for (std::size_t i = 0; i < some; ++i) {
        places.push_back(rows[begin + i].first);
        keys.push_back(rows[begin + i].second);
        out.push_back(&memory[i * width]);
      }
      state_->lower[t]->get(keys.data(), places.data(), some, out.data());
      for (std::size_t i = 0; i < some; ++i) visit(keys[i], static_cast<const float*>(out[i]));
    }
  }
}

// The lower tiers with all their rows written anew.
struct Table::RebuiltBelow {
  std::vector<std::unique_ptr<LowerTier>> lower;
  std::vector<std::vector<Index>> indexes;  // of each shard
  std::size_t width;                        // of a row
};

// Rows of another layout, as change(row, old) fills them in. The table stays as it is. Throws StorageFailed.
template <typename Change>
Table::RebuiltBelow Table::rebuilt_below(const RowLayout& after, const Change& change) const {
  RebuiltBelow result{make_lower(after), {}, after.stride()};
  std::vector<float> row(after.stride());
  const float* const rows[] = {row.data()};
  for (std::size_t s = 0; s < kShards; ++s) {
    const Shard& shard = *state_->shards[s];
    std::vector<Index> indexes(shard.lower.size());
    for (std::size_t t = 0; t < indexes.size(); ++t) indexes[t].reserve(shard.lower[t].size());
    visit_below(s, [&](std::int64_t key, const float* old) {
      const std::uint64_t hash = hash_key(key);
      std::size_t t = 0;
      while (shard.lower[t].find(hash, key) == kAbsent) ++t;
      change(row.data(), old);
      Slot place = kAbsent;
      result.lower[t]->put(&key, rows, 1, &place);
      indexes[t].insert(hash, key, place);
    });
    for (const auto& tier : result.lower) tier->flush();
    result.indexes.push_back(std::move(indexes));
  }
  return result;
}

template <typename Predicate>
std::size_t Table::remove_if(const Predicate& predicate) {
  const Maintenance maintenance(maintenance_);
  std::vector<std::vector<std::int64_t>> keys(kShards);
  const WriteLock lock(structure_);
  const Recount recount(*this);
  std::atomic<std::size_t> removed{0};
  parallel::run(kShards, [&](std::size_t s) {
    Shard& shard = *state_->shards[s];
    shard.index.for_each([&](std::int64_t key, Slot slot) {
      if (predicate(key, static_cast<const float*>(shard.rows.row(slot)))) keys[s].push_back(key);
    });
    visit_below(s, [&](std::int64_t key, const float* row) {
      if (predicate(key, row)) keys[s].push_back(key);
    });
  });
  ++epoch_;
  parallel::run(kShards,
                [&](std::size_t s) { removed += remove_from(*state_->shards[s], keys[s].data(), keys[s].size()); });
  return removed;
}

template <typename Sink>
void Table::snapshot(Sink&& sink) const {
  const Maintenance maintenance(maintenance_);
  FrozenBelow below;
  Destination to;
  std::size_t above = 0;
  std::shared_ptr<const Deferred> steps;
  {
    const WriteLock lock(structure_);
    std::vector<std::size_t> begins(kShards + 1);
    begin_snapshot(begins);
    below = freeze_below();
    to = sink(meta(), begins[kShards] + below.count());
    steps = state_->steps ? std::make_shared<Deferred>(*state_->steps) : nullptr;
    above = begins[kShards];
    for (std::size_t s = 0; s < kShards; ++s) state_->shards[s]->capture.start(state_->layout, to, begins[s], steps);
  }
  write_snapshot();
  write_below(below, to, above, steps);
}

}  // namespace recmigrate
