"""Storage tiers below memory for rows that were not used recently, and their status."""

from __future__ import annotations

from runtime.storage.tiers import Storage, TierStatus, hit_rates, tier_status

__all__ = ["Storage", "TierStatus", "hit_rates", "tier_status"]
