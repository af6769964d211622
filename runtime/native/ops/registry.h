// Live tables by handle value. A table belongs to the kernel that made it, or to the process if it is shared; ops hold
// it only while they run.
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

// Returns the handle of this process's table of that name, made by the first who asks: it belongs to no session, as the
// variables of a parameter server do not. Throws InvalidInput where the table that is there was made with another
// width, initializer or options; its seed is that of the first.
[[nodiscard]] std::int64_t shared_table(const std::string& shared_name, const TableConfig& config,
                                        const std::string& options, const std::string& instance);

// Forgets the handle; running ops keep the table alive until they end.
void unregister_table(std::int64_t handle) noexcept;

// Throws InvalidInput when no live table has this handle.
[[nodiscard]] std::shared_ptr<Table> find_table(std::int64_t handle);

// The live tables of an instance.
[[nodiscard]] std::vector<std::shared_ptr<Table>> tables_of(const std::string& instance);

// The tables that are registered now, in order of registration.
[[nodiscard]] std::vector<std::shared_ptr<Table>> live_tables();

}  // namespace recmigrate::ops
