"""Tiers below memory: where rows lie that were not used for long, and what is known of them."""

from __future__ import annotations

from runtime.storage.tiers import Storage, TierStatus, hit_rates, tier_status

__all__ = ["Storage", "TierStatus", "hit_rates", "tier_status"]
