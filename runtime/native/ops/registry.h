// Live tables by handle value. A table belongs to the kernel that made it; ops hold it only while they run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/table.h"

namespace recmigrate::ops {

// Makes the table findable and returns its handle, which no other table of this process ever gets. `instance` is that
// of the op that made it: the tables that sessions make of one graph share it.
[[nodiscard]] std::int64_t register_table(std::shared_ptr<Table> table, const std::string& instance);

// Forgets the handle; running ops keep the table alive until they end.
void unregister_table(std::int64_t handle) noexcept;

// Throws InvalidInput when no live table has this handle.
[[nodiscard]] std::shared_ptr<Table> find_table(std::int64_t handle);

// The live tables of an instance.
[[nodiscard]] std::vector<std::shared_ptr<Table>> tables_of(const std::string& instance);

// The tables that are registered now, in order of registration.
[[nodiscard]] std::vector<std::shared_ptr<Table>> live_tables();

}  // namespace recmigrate::ops
