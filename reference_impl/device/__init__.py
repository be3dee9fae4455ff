"""The reference Device: state machines that take events and the time, and return effects (sans-IO)."""
