// A growing table of embedding rows: lookup, insertion, update, deletion, snapshot and import.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "store/admission/admission_control.h"
#include "store/device/rows_on_device.h"
#include "store/lookup/lookups.h"
#include "store/lookup/recent_batches.h"
#include "store/rows/addresses.h"
#include "store/rows/memory_limit.h"
#include "store/rows/row_store.h"
#include "store/snapshots/snapshots.h"
#include "store/snapshots/table_meta.h"
#include "store/table_config.h"
#include "store/tiers/tiers.h"
#include "store/updates/norms.h"
#include "store/updates/optimizer.h"
#include "store/updates/updates.h"

namespace recmigrate {

// With `max_bytes`, a call that needs more memory throws LimitReached and inserts nothing, or evicts rows that it does
// not need itself, after waiting for a running snapshot; the steps of an optimizer that moves all rows (`Steps`) are
// not counted. Safe for any number of threads. A row is never seen half-written. The same calls in the same order give
// bit-equal results for any number of threads in the pool. If a call throws, every existing row is unchanged; keys that
// it was to insert may exist, with their initial rows. The table holds its parts and forwards to them; ARCHITECTURE.md
// lists the state of each part and the order of locks.
class Table {
 public:
  // Throws InvalidInput that names the table and the invalid field.
  explicit Table(const TableConfig& config);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return store_.name(); }
  [[nodiscard]] std::size_t dim() const noexcept { return store_.dim(); }
  [[nodiscard]] std::size_t size() const { return store_.size(); }
  // Bytes of the maximum number of rows so far, and of the index.
  [[nodiscard]] std::size_t bytes() const { return store_.bytes(); }
  // Rows that were evicted since the table was created, for any reason.
  [[nodiscard]] std::size_t evicted() const noexcept { return store_.evicted(); }

  // out[count, dim] = the rows of the keys; a key without a row reads its initial row and is not inserted. Rows of
  // lower tiers are moved up.
  void lookup(const std::int64_t* keys, std::size_t count, float* out) { lookups_.lookup(keys, count, out); }

  // The same for many keys: rows of lower tiers are read where they lie, and stay there. Rows that others write
  // meanwhile are read before or after, never in parts.
  void lookup_in_place(const std::int64_t* keys, std::size_t count, float* out) const {
    lookups_.lookup_in_place(keys, count, out);
  }

  // Like `lookup`, but keys without a row are inserted.
  void lookup_or_insert(const std::int64_t* keys, std::size_t count, float* out) {
    lookups_.lookup_or_insert(keys, count, out);
  }

  // Calls body(view) once: view.read(begin, count, scratch, rows) returns the rows of up to kBlock of the keys, on any
  // thread; they are valid and do not change while body runs. A key without a row is inserted first, or has its initial
  // row.
  using View = RowView;
  template <typename Body>
  void view(const std::int64_t* keys, std::size_t count, bool insert, const Body& body) {
    lookups_.view(keys, count, insert, body);
  }

  // A batch whose keys were de-duplicated and searched. An inserting lookup leaves it in the table, so that the update
  // of the same step, which has the same keys, does neither again. Where no lookup has left one, `take_batch` gives one
  // that is de-duplicated only: its epoch is kNotSearched.
  using StepBatch = recmigrate::StepBatch;
  using StepBatchPtr = recmigrate::StepBatchPtr;
  static constexpr std::uint64_t kNotSearched = RecentBatches::kNotSearched;
  // Takes the batch that a lookup of exactly these keys left out of the table, or de-duplicates the keys.
  [[nodiscard]] StepBatchPtr take_batch(const std::int64_t* keys, std::size_t count) {
    return recent_.take(keys, count);
  }
  // Leaves a batch for the update of its keys.
  void leave_batch(StepBatchPtr batch) { recent_.leave(std::move(batch)); }
  // Like `view` without inserting, for such a batch: rows that it has, and that are still in their places, are not
  // searched again.
  template <typename Body>
  void view_batch(const StepBatch& searched, const Body& body) {
    lookups_.view_batch(searched, body);
  }

  // found[i] = whether keys[i] has a row.
  void contains(const std::int64_t* keys, std::size_t count, bool* found) const { store_.contains(keys, count, found); }

  // The initial row of a key, whether it is in the table or not.
  void initial_row(std::int64_t key, float* out) const { store_.initial_row(key, out); }

  // Sums the gradients [count, dim] of equal keys in input order, inserts keys without a row and updates each row once.
  // If the table counts its keys, or keys were evicted from it, evicted rows are not created again: keys without a row
  // are skipped. Throws InvalidInput if the table's slots belong to another rule, and for a sum that is not finite,
  // unless such rows are to be skipped.
  void apply(const std::int64_t* keys, std::size_t count, const float* grads, const Update& update);
  // The same for many tables. Throws before any row is changed; also throws InvalidInput if a table occurs twice.
  struct Gradients {
    Table* table;
    const std::int64_t* keys;
    std::size_t count;
    const float* grads;
    WholeTable term{};  // over this table, beside that of the update
  };
  static void apply_together(const std::vector<Gradients>& all, const Update& update);
  // Announces which optimizer, identified by a number, updates next, and how many steps it has made since the table was
  // created, restored or reset. An optimizer without steps, or one that follows another, starts its next update with
  // the slots of new rows, even if its rule is another one. An optimizer that returns continues with the existing
  // slots; then `apply` throws InvalidInput if they belong to another rule.
  void begin(std::int64_t optimizer, std::int64_t steps) { updates_.begin(optimizer, steps); }
  // The same of an optimizer that does not count its steps: the first one continues with the slots that are there, and
  // one that returns throws InvalidInput if it has slots, since those that it had are gone.
  void take_over(std::int64_t optimizer, bool has_slots) { updates_.take_over(optimizer, has_slots); }
  // Gives a slot of all rows this value; their values and other slots are kept. `number` counts the slots of the
  // optimizer `set`. Without effect before the first update of that optimizer, with which its slots start.
  void start_slot(std::int64_t set, std::int64_t number, float start) {
    updates_.start_slot(set, number, start);
    device_.clear();
  }
  using Trained = recmigrate::Trained;
  [[nodiscard]] Trained trained() const { return updates_.trained(); }

  // The addresses of the keys' rows, which are inserted if needed. Throws InvalidInput unless the table was created
  // with `expansion`.
  void addresses(const std::int64_t* keys, std::size_t count, std::int64_t* out) {
    addresses_.addresses(keys, count, out);
  }
  // Returns the distinct keys of a batch with their rows and addresses. Keys without a row are inserted. `sink(n)` is
  // called once and returns where to write them.
  using Expansion = recmigrate::Expansion;
  template <typename Sink>
  void expand(const std::int64_t* keys, std::size_t count, Sink&& sink) {
    addresses_.expand(keys, count, std::forward<Sink>(sink));
  }
  // out[count, dim] = the rows at these addresses; `apply_at` updates them like `apply`. Throws InvalidInput that names
  // the first address that does not, or no longer, belong to a row; then nothing is changed.
  void lookup_at(const std::int64_t* addresses, std::size_t count, float* out) const {
    addresses_.lookup_at(addresses, count, out);
  }
  void apply_at(const std::int64_t* addresses, std::size_t count, const float* grads, const Update& update) {
    addresses_.apply_at(addresses, count, grads, update);
  }

  // Like `lookup_or_insert`, but counts the keys first, and only keys with a sufficient count have rows: for others,
  // out is the row of the bucket (rows/base.h) or else zero, admitted[i] is false, and nothing is inserted. Rows that
  // were created in another way (restored from a checkpoint without counters, upserted, inserted while nothing was
  // counted) are not counted, and are admitted whatever the threshold. Throws InvalidInput for numbers out of range.
  // `out` and `admitted` may be null: then nothing is read.
  void lookup_and_admit(const std::int64_t* keys, std::size_t count, const Admission& admission, float* out,
                        bool* admitted) {
    admission_.lookup_and_admit(keys, count, admission, out, admitted);
  }
  // The same without counting or inserting; in place as in `lookup_in_place`, or not.
  void lookup_admitted(const std::int64_t* keys, std::size_t count, std::int64_t threshold, float* out, bool* admitted,
                       bool in_place = false) {
    admission_.lookup_admitted(keys, count, threshold, out, admitted, in_place);
  }
  // A number above 0 replaces the threshold of all later lookups; 0 stops counting and keeps the threshold. Snapshots
  // save it; reset and import_rows replace it.
  void set_threshold(std::int64_t threshold) { admission_.set_threshold(threshold); }
  // Deletes the keys, and the counters of keys without rows, that were last seen `age` or longer before `now` (kNever:
  // before the newest time). A row that was never seen counts as seen now. Returns the number of deleted rows. Throws
  // InvalidInput if no lookup has had a time.
  std::size_t evict_unseen(std::int64_t age, std::int64_t now) {
    const std::size_t removed = admission_.evict_unseen(age, now);
    device_.clear();
    return removed;
  }
  // Deletes the rows with a half squared norm below `least`. Returns their number.
  std::size_t evict_light(float least) {
    const std::size_t removed = admission_.evict_light(least);
    device_.clear();
    return removed;
  }

  // Like `apply`, but counts the keys of the gradients first, including repetitions: keys without a row get one once
  // their count suffices, and the gradients of the others are dropped.
  void apply_and_count(const std::int64_t* keys, std::size_t count, const float* grads, const Update& update,
                       const Admission& admission);
  // Like `lookup`, but a key without a row reads zeros; permitted[i] = whether keys[i] has a row.
  void lookup_permitted(const std::int64_t* keys, std::size_t count, float* out, bool* permitted,
                        bool in_place = false) {
    admission_.lookup_permitted(keys, count, out, permitted, in_place);
  }
  // The count of each key, 0 if it was never counted, and the time of its last occurrence, kNever without any.
  void sightings(const std::int64_t* keys, std::size_t count, std::int64_t* counts, std::int64_t* times) const {
    admission_.sightings(keys, count, counts, times);
  }
  // Number of keys with exact counters and without a row.
  [[nodiscard]] std::size_t waiting() const { return admission_.waiting(); }
  // Sets the initial rows of keys from now on: row floor-mod(key, count) of these. With `keep`, earlier ones are kept.
  // Throws InvalidInput if there is no row.
  void set_initial_rows(const float* rows, std::size_t count, bool keep) { store_.set_initial_rows(rows, count, keep); }

  // Inserts or overwrites values [count, dim]; of equal keys the last one wins. Slots are kept, or start as those of
  // new rows.
  void upsert(const std::int64_t* keys, std::size_t count, const float* values) {
    snapshots_.upsert(keys, count, values);
    device_.clear();
  }

  // Deletes rows with everything that belongs to them; their memory is reused. Returns the number of rows. Base keys
  // (rows/base.h) delete the rows of buckets, as they set them in `upsert`, `merge` and `import_rows`.
  std::size_t remove(const std::int64_t* keys, std::size_t count) {
    const std::size_t removed = store_.remove(keys, count);
    device_.clear();
    return removed;
  }
  // The same for every key with predicate(key, row), which is called from several threads.
  template <typename Predicate>
  std::size_t remove_if(const Predicate& predicate) {
    const std::size_t removed = store_.remove_if(predicate);
    device_.clear();
    return removed;
  }

  // The state at one point in time, between updates. `sink(meta, rows)` is called once, under the table's lock, and
  // returns the Destination. Lookups and updates continue while the rows are written there. Without `with_base`, the
  // rows of buckets are left out: another rank saves the same.
  template <typename Sink>
  void snapshot(Sink&& sink, bool with_base = true) const {
    snapshots_.snapshot(std::forward<Sink>(sink), with_base);
  }

  // Replaces everything, including the seed. The first update afterwards may have another rule: it drops these slots.
  // Throws InvalidInput if dim differs or a key occurs twice.
  void import_rows(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
                   const float* slots) {
    snapshots_.import_rows(meta, keys, count, values, slots);
    device_.clear();
  }

  // Inserts or overwrites rows with the slots of the optimizer in `meta`; of equal keys the last one wins. The seed in
  // `meta` is ignored. Without an optimizer, slots are kept, or start as those of new rows. No snapshot or lookup sees
  // a partial result. Throws InvalidInput if dim differs, counters are damaged, or the table has the slots of another
  // optimizer.
  void merge(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
             const float* slots) {
    snapshots_.merge(meta, keys, count, values, slots);
    device_.clear();
  }

  // The norms of all rows, as they are now or were at one of the last `every` - 1 calls; keys 0 to size - 1 without a
  // row are inserted first.
  [[nodiscard]] RowNorms norms(std::int64_t size, std::int64_t every) { return norms_.of_all_rows(size, every); }

  // Empties the table: no rows, no slots, the seed that it was created with.
  void reset() {
    snapshots_.reset();
    device_.clear();
  }

  // Rows on a device; whatever replaces or removes rows of the table forgets their places, so that what was changed
  // there must have been written before.
  [[nodiscard]] RowsOnDevice& on_device() noexcept { return device_; }

  // out[i] = the number of the tier with the row of keys[i], 0 for memory; -1 if there is no row.
  void tiers_of(const std::int64_t* keys, std::size_t count, std::int32_t* out) const {
    tiers_.tiers_of(keys, count, out);
  }
  // Reads the rows of distinct keys that are below memory in the background, for a batch that will need them soon; best
  // with the keys grouped by shard. Nothing else changes: no key is inserted, counted or moved.
  void prefetch(std::vector<std::int64_t> keys) { tiers_.prefetch(std::move(keys)); }
  // Whether the table does so.
  [[nodiscard]] bool prefetches() const noexcept { return tiers_.prefetches(); }
  // Returns once no tier exceeds its size, except for rows that batches move up meanwhile, and everything that belongs
  // on a medium is written. Throws StorageFailed.
  void drain() { tiers_.drain(); }
  // Contents and statistics of the tiers, from the first to the last; empty for a table without tiers.
  using TierStatus = recmigrate::TierStatus;
  [[nodiscard]] std::vector<TierStatus> tier_status() const { return tiers_.status(); }

 private:
  // Each part knows the parts before it.
  RowStore store_;
  RecentBatches recent_;
  MemoryLimit limit_;
  Tiers tiers_;
  Lookups lookups_;
  AdmissionControl admission_;
  Updates updates_;
  Addresses addresses_;
  Snapshots snapshots_;
  Norms norms_;
  RowsOnDevice device_;
};

}  // namespace recmigrate
