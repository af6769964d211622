#include "store/tiers/lower_tier.h"

#include "store/errors.h"

namespace recmigrate {

std::unique_ptr<LowerTier> make_tier(Medium medium, const TierPlace& place) {
  if (medium == Medium::mapped) return make_mapped(place);
  if (medium == Medium::log) return make_record_log(place);
  if (medium == Medium::leveldb) return make_leveldb(place);
  fail_invalid(place.owner + " cannot have such a tier below memory");
}

}  // namespace recmigrate
