"""Where the expectations of `vectors/codec/` come from: computed here from the layouts, never by the reference."""
