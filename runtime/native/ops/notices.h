// What the engine has to say reaches Python at the end of the op in which it came up.
#pragma once

namespace recmigrate::ops {

// Tells what was posted to who listens, if anybody does. No lock of a table is held.
void deliver_notices() noexcept;

}  // namespace recmigrate::ops
