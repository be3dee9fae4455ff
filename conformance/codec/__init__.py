"""Codec cases: one call of the driver each, with bytes in and bytes or a refusal out (CDC-001 to CDC-008)."""
