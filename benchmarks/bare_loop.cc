// The bare loop: what one thread of this machine does with the same arithmetic and nothing around it.
//
// One open-addressing index (linear probing, at most half full), one array of rows (value, then optimizer slots),
// no growth, no locks, no TensorFlow. Called through ctypes by bare.py. `ahead` > 0 prefetches that many ids ahead;
// `huge` asks for huge pages, as the runtime's table does: without them the two differ by page walks, not by work.

#include <sys/mman.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#ifndef BARE_DIM
#define BARE_DIM 16
#endif

namespace {

constexpr int kDim = BARE_DIM;
constexpr int kLine = 16;  // floats of a cache line
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::int32_t kEmpty = -1;

struct Bucket {
  std::int64_t key;
  std::int32_t row;
};

struct Rates {
  float learning, beta1, beta2, epsilon;
};

double now_ms() {
  using clock = std::chrono::steady_clock;
  return std::chrono::duration<double, std::milli>(clock::now().time_since_epoch()).count();
}

bool huge_pages_wanted = false;  // read by the allocations of the table that is being made

template <typename T>
struct TableMemory {
  using value_type = T;
  TableMemory() = default;
  template <typename U>
  TableMemory(const TableMemory<U>&) {}
  T* allocate(std::size_t count) {
    const std::size_t bytes = (count * sizeof(T) + kHugePage - 1) / kHugePage * kHugePage;
    void* memory = std::aligned_alloc(kHugePage, bytes);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (huge_pages_wanted) madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  template <typename U>
  bool operator==(const TableMemory<U>&) const {
    return true;
  }
  template <typename U>
  bool operator!=(const TableMemory<U>&) const {
    return false;
  }
};

template <typename T>
using TableVector = std::vector<T, TableMemory<T>>;

struct Table {
  TableVector<Bucket> index;
  TableVector<float> rows;
  TableVector<std::uint64_t> segment_of_row;  // step << 32 | segment: needs no clearing between steps
  int shift, slots, stride, ahead;
  std::int64_t used = 0, limit;
  float initial_value, initial_slot;
  std::uint64_t steps = 0;
  // Buffers of one batch.
  std::vector<std::int32_t> row_of_id, touched;
  std::vector<float> values, sums;

  Table(std::int64_t keys, int slot_count, float value, float slot, int ahead_)
      : slots(slot_count),
        stride(kDim * (1 + slot_count)),
        ahead(ahead_),
        limit(keys),
        initial_value(value),
        initial_slot(slot) {
    int bits = 4;
    while ((std::int64_t{1} << bits) < 2 * keys) ++bits;
    shift = 64 - bits;
    index.assign(std::size_t{1} << bits, Bucket{0, kEmpty});
    rows.resize(static_cast<std::size_t>(keys) * stride);
    segment_of_row.assign(keys, 0);
  }

  std::size_t home(std::int64_t key) const {
    return (static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15ull) >> shift;
  }

  float* row(std::int32_t r) { return rows.data() + static_cast<std::size_t>(r) * stride; }

  // The row of `key`; an unseen key gets a new row. kEmpty when the table is full, or when `insert` is false.
  std::int32_t find(std::int64_t key, bool insert) {
    for (std::size_t at = home(key);; at = (at + 1) & (index.size() - 1)) {
      Bucket& bucket = index[at];
      if (bucket.row == kEmpty) {
        if (!insert || used == limit) return kEmpty;
        bucket = Bucket{key, static_cast<std::int32_t>(used++)};
        float* fresh = row(bucket.row);
        for (int c = 0; c < kDim; ++c) fresh[c] = initial_value;
        for (int c = kDim; c < stride; ++c) fresh[c] = initial_slot;
        return bucket.row;
      }
      if (bucket.key == key) return bucket.row;
    }
  }

  // Hash and gather: values[n, kDim]. False when the table is full.
  bool gather(const std::int64_t* ids, std::int64_t n) {
    row_of_id.resize(n);
    values.resize(n * kDim);
    for (std::int64_t i = 0; i < n; ++i) {
      if (ahead && i + ahead < n) __builtin_prefetch(&index[home(ids[i + ahead])]);
      if ((row_of_id[i] = find(ids[i], true)) == kEmpty) return false;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      if (ahead && i + ahead < n)
        for (int line = 0; line < kDim; line += kLine) __builtin_prefetch(row(row_of_id[i + ahead]) + line);
      const float* from = row(row_of_id[i]);
      for (int c = 0; c < kDim; ++c) values[i * kDim + c] = from[c];
    }
    return true;
  }

  // Sum of squares; leaves the gradient 2 e in `values`.
  double loss_and_gradient(std::int64_t n) {
    double total = 0;
    for (std::int64_t block = 0; block < n; block += 1024) {
      float lanes[kDim] = {};
      for (std::int64_t i = block; i < n && i < block + 1024; ++i)
        for (int c = 0; c < kDim; ++c) {
          float& e = values[i * kDim + c];
          lanes[c] += e * e;
          e *= 2.0f;
        }
      for (float lane : lanes) total += lane;
    }
    return total;
  }

  // One gradient per distinct row, duplicates summed in input order.
  void segment_sum(std::int64_t n) {
    touched.clear();
    sums.resize(n * kDim);
    ++steps;
    for (std::int64_t i = 0; i < n; ++i) {
      if (ahead && i + ahead < n) __builtin_prefetch(&segment_of_row[row_of_id[i + ahead]]);
      std::uint64_t& mark = segment_of_row[row_of_id[i]];
      const float* gradient = &values[i * kDim];
      if (mark >> 32 != steps) {
        mark = steps << 32 | touched.size();
        float* sum = &sums[touched.size() * kDim];
        for (int c = 0; c < kDim; ++c) sum[c] = gradient[c];
        touched.push_back(row_of_id[i]);
      } else {
        float* sum = &sums[(mark & 0xFFFFFFFFu) * kDim];
        for (int c = 0; c < kDim; ++c) sum[c] += gradient[c];
      }
    }
  }

  void update(const Rates& rates) {
    const std::size_t count = touched.size();
    for (std::size_t s = 0; s < count; ++s) {
      if (ahead && s + ahead < count)
        for (int line = 0; line < stride; line += kLine) __builtin_prefetch(row(touched[s + ahead]) + line, 1);
      move(row(touched[s]), &sums[s * kDim], rates);
    }
  }

  void move(float* __restrict w, const float* __restrict g, const Rates& rates) const {
    float* first = w + kDim;
    float* second = w + 2 * kDim;
    if (slots == 0) {
      for (int c = 0; c < kDim; ++c) w[c] -= rates.learning * g[c];
    } else if (slots == 1) {
      for (int c = 0; c < kDim; ++c) {
        first[c] += g[c] * g[c];
        w[c] -= rates.learning * g[c] / std::sqrt(first[c]);
      }
    } else {
      for (int c = 0; c < kDim; ++c) {
        first[c] = rates.beta1 * first[c] + (1 - rates.beta1) * g[c];
        second[c] = rates.beta2 * second[c] + (1 - rates.beta2) * g[c] * g[c];
        w[c] -= rates.learning * first[c] / (std::sqrt(second[c]) + rates.epsilon);
      }
    }
  }
};

}  // namespace

extern "C" {

// slots: 0 SGD, 1 Adagrad, 2 lazy Adam.
void* bare_create(std::int64_t keys, int slots, float value, float slot, int ahead, int huge) {
  huge_pages_wanted = huge != 0;
  return new Table(keys, slots, value, slot, ahead);
}

// 0, or 1 when the table is full.
int bare_forward(void* table, const std::int64_t* ids, std::int64_t n) {
  return static_cast<Table*>(table)->gather(ids, n) ? 0 : 1;
}

// Writes the loss and the milliseconds of gather, loss with gradient, segment-sum with update. 0, or 1 when full.
int bare_step(void* table, const std::int64_t* ids, std::int64_t n, float learning, float beta1, float beta2,
              float epsilon, double* loss, double* ms) {
  Table& t = *static_cast<Table*>(table);
  const double start = now_ms();
  if (!t.gather(ids, n)) return 1;
  const double gathered = now_ms();
  *loss = t.loss_and_gradient(n);
  const double derived = now_ms();
  t.segment_sum(n);
  t.update(Rates{learning, beta1, beta2, epsilon});
  ms[0] = gathered - start;
  ms[1] = derived - gathered;
  ms[2] = now_ms() - derived;
  return 0;
}

// Rows [n, kDim] of keys; an unseen key reads its initial value and is not inserted.
void bare_rows(void* table, const std::int64_t* keys, std::int64_t n, float* out) {
  Table& t = *static_cast<Table*>(table);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t r = t.find(keys[i], false);
    for (int c = 0; c < kDim; ++c) out[i * kDim + c] = r == kEmpty ? t.initial_value : t.row(r)[c];
  }
}

}  // extern "C"
