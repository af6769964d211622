// A table of embedding rows that grows with its keys: look-up, insertion, update, deletion, snapshot and import.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "store/admission/admission_control.h"
#include "store/lookup/lookups.h"
#include "store/lookup/recent_batches.h"
#include "store/rows/addresses.h"
#include "store/rows/memory_limit.h"
#include "store/rows/row_store.h"
#include "store/snapshots/snapshots.h"
#include "store/snapshots/table_meta.h"
#include "store/table_config.h"
#include "store/tiers/tiers.h"
#include "store/updates/optimizer.h"
#include "store/updates/updates.h"

namespace recmigrate {

// With a `max_bytes`, a call that needs more throws LimitReached and inserts nothing, or evicts rows that it does not
// need itself, waiting for a snapshot under way; the steps of an optimizer that moves all rows (`Deferred`) are not
// counted. Safe for any number of threads. A row is never seen half-written. The same calls in the same order give the
// same bits for any number of threads in the pool. When a call throws, every row is as before; keys it was to insert
// may be there, with their initial rows.
//
// It holds the parts and forwards to them; ARCHITECTURE.md says which state is whose, and in which order locks are
// taken.
class Table {
 public:
  // Throws InvalidInput that names the table and the wrong field.
  explicit Table(const TableConfig& config);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return store_.name(); }
  [[nodiscard]] std::size_t dim() const noexcept { return store_.dim(); }
  [[nodiscard]] std::size_t size() const { return store_.size(); }
  // Of the rows that were ever needed at once, and of the index.
  [[nodiscard]] std::size_t bytes() const { return store_.bytes(); }
  // Rows that were evicted since the table was made, for whatever reason.
  [[nodiscard]] std::size_t evicted() const noexcept { return store_.evicted(); }

  // out[count, dim] = the keys' rows; an unseen key reads its initial row and is not inserted. Rows of lower tiers come
  // up.
  void lookup(const std::int64_t* keys, std::size_t count, float* out) { lookups_.lookup(keys, count, out); }

  // As `lookup`, but unseen keys are inserted.
  void lookup_or_insert(const std::int64_t* keys, std::size_t count, float* out) {
    lookups_.lookup_or_insert(keys, count, out);
  }

  // Calls body(view) once: view.read(begin, count, scratch, rows) gives the rows of up to kBlock of the keys, from any
  // thread; they are valid and do not change while body runs. An unseen key is inserted before, or has its initial row.
  using View = RowView;
  template <typename Body>
  void view(const std::int64_t* keys, std::size_t count, bool insert, const Body& body) {
    lookups_.view(keys, count, insert, body);
  }

  // What a look-up that inserts leaves with the table for what follows of its step.
  using Found = recmigrate::Found;
  using FoundPtr = recmigrate::FoundPtr;
  static constexpr std::uint64_t kNoRows = RecentBatches::kNoRows;
  // Takes what a look-up of exactly these keys left, or de-duplicates them.
  [[nodiscard]] FoundPtr take_found(const std::int64_t* keys, std::size_t count) { return recent_.take(keys, count); }
  // Leaves it for an update of its ids.
  void leave_found(FoundPtr found) { recent_.leave(std::move(found)); }
  // As `view` without inserting; rows that were found are not looked for again.
  template <typename Body>
  void view_found(const Found& found, const Body& body) {
    lookups_.view_found(found, body);
  }

  // found[i] = whether keys[i] has a row.
  void contains(const std::int64_t* keys, std::size_t count, bool* found) const { store_.contains(keys, count, found); }

  // The initial row of a key, whether it is in the table or not.
  void initial_row(std::int64_t key, float* out) const { store_.initial_row(key, out); }

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
  static void apply_together(const std::vector<Gradients>& all, const Update& update);
  // Says which optimizer, a number of its own, updates next, and how many steps it has made so far. Since the table was
  // made, restored or reset: one without steps, or that comes after another, begins at its next update with slots like
  // those of new rows, also when it is of another rule. One that comes back goes on with the slots that are there; then
  // `apply` throws InvalidInput when they are of another rule.
  void begin(std::int64_t optimizer, std::int64_t steps) { updates_.begin(optimizer, steps); }
  using Trained = recmigrate::Trained;
  [[nodiscard]] Trained trained() const { return updates_.trained(); }

  // The addresses of the keys' rows, which are inserted when unseen. Throws InvalidInput unless made with `expansion`.
  void addresses(const std::int64_t* keys, std::size_t count, std::int64_t* out) {
    addresses_.addresses(keys, count, out);
  }
  // Gives the distinct keys of a batch, with their rows and addresses. Unseen keys are inserted. `sink(n)` is called
  // once and returns where to write them.
  using Expansion = recmigrate::Expansion;
  template <typename Sink>
  void expand(const std::int64_t* keys, std::size_t count, Sink&& sink) {
    addresses_.expand(keys, count, std::forward<Sink>(sink));
  }
  // out[count, dim] = the rows at these addresses; `apply_at` updates them as `apply` does. Throws InvalidInput that
  // names the first address that is not, or no longer, that of a row; nothing is changed then.
  void lookup_at(const std::int64_t* addresses, std::size_t count, float* out) const {
    addresses_.lookup_at(addresses, count, out);
  }
  void apply_at(const std::int64_t* addresses, std::size_t count, const float* grads, const Update& update) {
    addresses_.apply_at(addresses, count, grads, update);
  }

  // As `lookup_or_insert`, but counts the keys first, and only those that were seen often enough have rows: for the
  // others out is zero, admitted[i] false, and nothing is inserted. Rows that came otherwise (restored from a
  // checkpoint without counters, upserted, inserted when nothing was counted) are not counted, and admitted whatever
  // the threshold. Throws InvalidInput for numbers out of range. `out` and `admitted` may be null: then nothing is
  // read.
  void lookup_and_admit(const std::int64_t* keys, std::size_t count, const Admission& admission, float* out,
                        bool* admitted) {
    admission_.lookup_and_admit(keys, count, admission, out, admitted);
  }
  // The same without counting or inserting.
  void lookup_admitted(const std::int64_t* keys, std::size_t count, std::int64_t threshold, float* out,
                       bool* admitted) {
    admission_.lookup_admitted(keys, count, threshold, out, admitted);
  }
  // A number above 0 replaces the threshold of every later look-up; 0 stops counting and keeps the threshold. Snapshots
  // keep it; reset and import_rows replace it.
  void set_threshold(std::int64_t threshold) { admission_.set_threshold(threshold); }
  // Deletes the keys, and forgets those without rows, that were last seen `age` or more before `now` (kNever: before
  // the newest time). A row that was never seen counts as seen now. Returns how many rows there were. Throws
  // InvalidInput when no look-up has given times.
  std::size_t evict_unseen(std::int64_t age, std::int64_t now) { return admission_.evict_unseen(age, now); }
  // Deletes the rows whose half squared norm is below `least`. Returns how many there were.
  std::size_t evict_light(float least) { return admission_.evict_light(least); }

  // As `apply`, but counts the keys of the gradients first, every occurrence: those that have no row get one once they
  // were seen often enough, and the gradients of the others are dropped.
  void apply_and_count(const std::int64_t* keys, std::size_t count, const float* grads, const Update& update,
                       const Admission& admission);
  // As `lookup`, but a key that has no row reads zeros; permitted[i] = whether keys[i] has one.
  void lookup_permitted(const std::int64_t* keys, std::size_t count, float* out, bool* permitted) {
    admission_.lookup_permitted(keys, count, out, permitted);
  }
  // How often each key was counted, 0 when it never was, and when it was last, kNever when no time was given.
  void sightings(const std::int64_t* keys, std::size_t count, std::int64_t* counts, std::int64_t* times) const {
    admission_.sightings(keys, count, counts, times);
  }
  // Keys that are counted exactly and have no row yet.
  [[nodiscard]] std::size_t waiting() const { return admission_.waiting(); }
  // The initial rows of keys from now on: row floor-mod(key, count) of these. With `keep` those given before stay.
  // Throws InvalidInput when there is none.
  void set_initial_rows(const float* rows, std::size_t count, bool keep) { store_.set_initial_rows(rows, count, keep); }

  // Inserts or overwrites values [count, dim], the last of equal keys wins; slots stay, or start as those of new rows.
  void upsert(const std::int64_t* keys, std::size_t count, const float* values) {
    snapshots_.upsert(keys, count, values);
  }

  // Deletes rows with all that belongs to them; their memory is used again. Returns how many there were.
  std::size_t remove(const std::int64_t* keys, std::size_t count) { return store_.remove(keys, count); }
  // The same for every key with predicate(key, row), which is called from several threads.
  template <typename Predicate>
  std::size_t remove_if(const Predicate& predicate) {
    return store_.remove_if(predicate);
  }

  // The state at one moment, between updates. `sink(meta, rows)` is called once, under the table's lock, and returns
  // the Destination. Look-ups and updates go on while the rows are being written there.
  template <typename Sink>
  void snapshot(Sink&& sink) const {
    snapshots_.snapshot(std::forward<Sink>(sink));
  }

  // Replaces everything, the seed included. The first update that follows may be by another rule: it drops these slots.
  // Throws InvalidInput for another dim and for a key that comes twice.
  void import_rows(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
                   const float* slots) {
    snapshots_.import_rows(meta, keys, count, values, slots);
  }

  // Inserts or overwrites rows with the slots of the optimizer that `meta` names, the last of equal keys wins; its seed
  // is not taken over. Where it names none, slots stay, or start as those of new rows. No snapshot or look-up sees a
  // part of it. Throws InvalidInput for another dim, for damaged counters, and when the table has the slots of another
  // optimizer.
  void merge(const TableMeta& meta, const std::int64_t* keys, std::size_t count, const float* values,
             const float* slots) {
    snapshots_.merge(meta, keys, count, values, slots);
  }

  // Empties the table: no rows, no slots, the seed it was made with.
  void reset() { snapshots_.reset(); }

  // out[i] = the number of the tier that the row of keys[i] lies in, 0 for memory; -1 when there is none.
  void tiers_of(const std::int64_t* keys, std::size_t count, std::int32_t* out) const {
    tiers_.tiers_of(keys, count, out);
  }
  // Has the rows of distinct keys that lie below memory read in the background, for a batch that will need them soon;
  // best with the keys of a shard one after the other. Nothing else changes: no key is inserted, counted or moved.
  void prefetch(std::vector<std::int64_t> keys) { tiers_.prefetch(std::move(keys)); }
  // Whether it does.
  [[nodiscard]] bool prefetches() const noexcept { return tiers_.prefetches(); }
  // Returns once no tier holds more than it may, but for rows that batches bring up meanwhile, and what is to be on a
  // medium is there. Throws StorageFailed.
  void drain() { tiers_.drain(); }
  // What the tiers hold and did, from the first to the last; empty for a table without.
  using TierStatus = recmigrate::TierStatus;
  [[nodiscard]] std::vector<TierStatus> tier_status() const { return tiers_.status(); }

 private:
  // Each part knows those before it.
  RowStore store_;
  RecentBatches recent_;
  MemoryLimit limit_;
  Tiers tiers_;
  Lookups lookups_;
  AdmissionControl admission_;
  Updates updates_;
  Addresses addresses_;
  Snapshots snapshots_;
};

}  // namespace recmigrate
