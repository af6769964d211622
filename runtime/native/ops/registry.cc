#include "ops/registry.h"

#include <map>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "store/errors.h"

namespace recmigrate::ops {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<std::int64_t, std::shared_ptr<Table>> tables;
  std::unordered_multimap<std::string, std::int64_t> handles;  // by instance
  // Starts at a random number, so that a handle from another process or run finds no table instead of a wrong one.
  std::int64_t next = (std::int64_t{std::random_device{}()} << 30) + 1;
};

// A table of the process, and what it was made with.
struct Shared {
  std::int64_t handle;
  std::int64_t dim;
  std::string initializer;
  std::string options;
};

struct SharedTables {
  std::mutex mutex;  // held while a table is made, so that one is made for each name
  std::map<std::string, Shared> by_name;
};

SharedTables& shared_tables() {
  static auto* const instance = new SharedTables;
  return *instance;
}

// Never destroyed: kernels may be deleted after static destruction.
Registry& registry() {
  static auto* const instance = new Registry;
  return *instance;
}

}  // namespace

std::int64_t register_table(std::shared_ptr<Table> table, const std::string& instance) {
  Registry& all = registry();
  const std::unique_lock<std::shared_mutex> lock(all.mutex);
  all.tables.emplace(all.next, std::move(table));
  all.handles.emplace(instance, all.next);
  return all.next++;
}

std::int64_t shared_table(const std::string& shared_name, const TableConfig& config, const std::string& options,
                          const std::string& instance) {
  SharedTables& shared = shared_tables();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  const auto found = shared.by_name.find(shared_name);
  if (found == shared.by_name.end()) {
    const std::int64_t handle = register_table(std::make_shared<Table>(config), instance);
    shared.by_name.emplace(shared_name, Shared{handle, config.dim, config.initializer, options});
    return handle;
  }
  const Shared& there = found->second;
  if (there.dim != config.dim || there.initializer != config.initializer || there.options != options) {
    fail_invalid("the server has a table '" + shared_name + "' of width " + std::to_string(there.dim) +
                 ", initializer '" + there.initializer + "' and options '" + there.options +
                 "', and this program has one of width " + std::to_string(config.dim) + ", initializer '" +
                 config.initializer + "' and options '" + options +
                 "': give all tasks the same program, and restart servers on which another program has run");
  }
  return there.handle;
}

void unregister_table(std::int64_t handle) noexcept {
  Registry& all = registry();
  std::shared_ptr<Table> last;  // freed after the lock: a large table takes a while
  const std::unique_lock<std::shared_mutex> lock(all.mutex);
  const auto found = all.tables.find(handle);
  if (found == all.tables.end()) return;
  last = std::move(found->second);
  all.tables.erase(found);
  for (auto one = all.handles.begin(); one != all.handles.end(); ++one) {
    if (one->second != handle) continue;
    all.handles.erase(one);
    break;
  }
}

std::shared_ptr<Table> find_table(std::int64_t handle) {
  Registry& all = registry();
  const std::shared_lock<std::shared_mutex> lock(all.mutex);
  const auto found = all.tables.find(handle);
  if (found == all.tables.end()) {
    fail_invalid("this session has not created the table that is used (its handle is " + std::to_string(handle) +
                 "): run the init op, or restore a checkpoint, in this session");
  }
  return found->second;
}

std::vector<std::shared_ptr<Table>> tables_of(const std::string& instance) {
  Registry& all = registry();
  const std::shared_lock<std::shared_mutex> lock(all.mutex);
  std::vector<std::shared_ptr<Table>> tables;
  const auto [begin, end] = all.handles.equal_range(instance);
  for (auto one = begin; one != end; ++one) tables.push_back(all.tables.at(one->second));
  return tables;
}

std::vector<std::shared_ptr<Table>> live_tables() {
  Registry& all = registry();
  const std::shared_lock<std::shared_mutex> lock(all.mutex);
  const std::map<std::int64_t, std::shared_ptr<Table>> ordered(all.tables.begin(), all.tables.end());
  std::vector<std::shared_ptr<Table>> tables;
  for (const auto& [handle, table] : ordered) tables.push_back(table);
  return tables;
}

}  // namespace recmigrate::ops
